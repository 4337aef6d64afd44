// Which parts of the records of a topic have schemas: pages decode these with the registry, and produce them with it,
// unless the user chooses otherwise. The read is in use-schema-parts.ts.

/** The subject of a part, or null if each record names its own. */
export interface PartSchema {
  readonly subject: string | null
}

/** Null for a part without a schema. */
export interface SchemaParts {
  readonly key: PartSchema | null
  readonly value: PartSchema | null
}

export const NO_SCHEMAS: SchemaParts = { key: null, value: null }
