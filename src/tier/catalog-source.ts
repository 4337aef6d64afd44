// The tables of topics, as the catalog of the HTTP port shows them to SQL engines. Only the shape is here: the remote
// tier implements it, and a broker without a remote tier loads none of that.

export interface CatalogSource {
  /** The one namespace, as `svc.storage.remote.catalog.namespace` names it. */
  readonly namespace: string
  /**
   * Properties that clients may use if they have none of their own, such as `s3.region`. They contain no credentials.
   */
  readonly defaults: Readonly<Record<string, string>>
  /** Returns the names of the topics that have a table, in any order. A table has the name of its topic. */
  names(): readonly string[]
  /**
   * Resolves with the newest version of a topic's table; null if there is no such topic, or if it has no table. It
   * never rejects for a fault of the object store or of the table.
   */
  table(topicName: string): Promise<CatalogTable | CatalogTrouble | null>
}

/** The snapshots that metadata names: all, or only those that branches and tags refer to. */
export type ShownSnapshots = 'all' | 'refs'

export interface CatalogTable {
  readonly kind: 'table'
  /** The URI of the metadata file. No two versions of a table, and no two tables, have the same. */
  readonly metadataLocation: string
  /** Returns the table metadata as JSON. Its integers have all of their digits. */
  json(snapshots: ShownSnapshots): string
}

export type CatalogTrouble =
  /** Too many reads wait for the object store. */
  | { readonly kind: 'busy' }
  /** The object store does not answer. A later call may succeed. */
  | { readonly kind: 'away'; readonly why: string }
  /** The table cannot be read. It does not mend itself. */
  | { readonly kind: 'damaged'; readonly why: string }
