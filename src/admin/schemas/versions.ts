// Shows versions of subjects and schemas of ids: their texts, their references in both directions, and how two versions
// differ.

import type {
  SchemaById,
  SchemaDiff,
  SchemaDirection,
  SchemaReason,
  SchemaReferrer,
  SchemaVersion,
} from '../../api/schemas.ts'
import { type Difference, placeOf } from '../../registry/format.ts'
import { isRefusal, type RegistryRefusal } from '../../registry/refusals.ts'
import type { Registry } from '../../registry/registry.ts'
import { pretty } from './pretty.ts'

type Stored = Exclude<Awaited<ReturnType<Registry['byVersion']>>, RegistryRefusal>
type Direction = Exclude<Awaited<ReturnType<Registry['compareVersions']>>, RegistryRefusal>['backward']

type TextMembers = 'id' | 'guid' | 'type' | 'schema' | 'references' | 'metadata' | 'ruleSet'

const MOST_REASONS = 100

/** Resolves with a version, deleted or not. */
export async function showVersion(
  registry: Registry,
  subject: string,
  version: string,
): Promise<SchemaVersion | RegistryRefusal> {
  // The latest version is never a deleted one.
  const found = await registry.byVersion(subject, version, { isDeletedToo: version !== 'latest' })
  return isRefusal(found) ? found : await shownVersion(registry, found)
}

export async function shownVersion(registry: Registry, found: Stored): Promise<SchemaVersion> {
  const referrers = await registry.referrersTo(found.subject)
  return {
    ...{ subject: found.subject, version: found.version },
    ...textOf(found),
    deleted: found.isDeleted,
    registeredAt: new Date(found.atMs).toISOString(),
    referrers: referrers.filter(({ refersTo }) => refersTo === found.version).map(referrerOf),
  }
}

/** Resolves with the schema of an id, also if no version has it any more. */
export async function showId(registry: Registry, id: number): Promise<SchemaById | RegistryRefusal> {
  const found = await registry.byId(id)
  if (isRefusal(found)) return found
  const [all, live] = await Promise.all([registry.versionsOfId(id, { isDeletedToo: true }), registry.versionsOfId(id)])
  if (isRefusal(all)) return all
  const isLive = (row: { subject: string; version: number }) =>
    !isRefusal(live) && live.some(each => each.subject === row.subject && each.version === row.version)
  return { ...textOf(found), usedBy: all.map(row => ({ ...row, deleted: !isLive(row) })) }
}

export async function diffVersions(
  registry: Registry,
  subject: string,
  version: string,
  against: string | undefined,
): Promise<SchemaDiff | RegistryRefusal> {
  const found = await registry.compareVersions(subject, version, against)
  if (isRefusal(found)) return found
  const { before, after, level, backward, forward } = found
  return {
    ...{ subject, level },
    ...{ before: sideOf(before), after: sideOf(after) },
    ...{ backward: directionOf(backward), forward: directionOf(forward) },
  }
}

function sideOf({ version, id, type, isDeleted, atMs, schema }: Stored): SchemaDiff['before'] {
  const registeredAt = new Date(atMs).toISOString()
  return { version, id, type, deleted: isDeleted, registeredAt, pretty: pretty(type, schema) }
}

function directionOf({ differences, trouble }: Direction): SchemaDirection {
  if (trouble === null) return { compatible: differences.length === 0, reasons: reasonsOf(differences) }
  return { compatible: false, reasons: [{ kind: 'NOT_COMPARED', path: '/', description: `Not compared: ${trouble}` }] }
}

export function reasonsOf(differences: readonly Difference[]): SchemaReason[] {
  return differences
    .slice(0, MOST_REASONS)
    .map(each => ({ kind: each.type, path: placeOf(each), description: each.description }))
}

export function referrerOf({
  subject,
  version,
  id,
  isDeleted,
}: Omit<SchemaReferrer, 'deleted'> & { readonly isDeleted: boolean }): SchemaReferrer {
  return { subject, version, id, deleted: isDeleted }
}

function textOf({ id, guid, type, schema, references, metadata, ruleSet }: Pick<Stored, TextMembers>) {
  return {
    ...{ id, guid, type, schema },
    pretty: pretty(type, schema),
    references: references.map(each => ({ ...each })),
    ...{ metadata, ruleSet },
  }
}
