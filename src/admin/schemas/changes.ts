// Checks and registers schemas, and deletes versions and subjects, for operators.

import { placeInWords } from '../../api/schema-words.ts'
import type { CheckedSchema, RegisteredSchema, SchemaDeletion } from '../../api/schemas.ts'
import type { SchemaLevel, SchemaTypeName } from '../../api/words.ts'
import { cut } from '../../base/cut.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../../registry/refusals.ts'
import type { Registry } from '../../registry/registry.ts'
import { liveVersions } from '../../registry/state/subject.ts'
import { type Declined, declined } from '../declined.ts'
import { pretty } from './pretty.ts'
import { type SchemaRooms, topicsJudgedBy } from './subjects.ts'
import { reasonsOf, referrerOf, shownVersion } from './versions.ts'

export interface SchemaText {
  readonly type: SchemaTypeName
  readonly schema: string
  readonly references: readonly { readonly name: string; readonly subject: string; readonly version: number }[]
  readonly normalize: boolean
}

/** The most reasons or schemas that a sentence names. */
const MOST_NAMED = 5

const INCOMPATIBLE = refusals.incompatible('', []).code
const REFERENCED = refusals.referenced('', 0).code

/** The schema itself is refused: 42201 and 42209 (refusals.ts). */
const BAD_SCHEMA: readonly number[] = [refusals.invalidSchema('').code, refusals.tooLarge('').code]

/**
 * Resolves with the outcome that a registration would have, without a change. A schema that is not valid is an outcome
 * too; a bad name of a subject is a refusal.
 */
export async function checkSchema(
  registry: Registry,
  subject: string,
  { level, ...text }: SchemaText & { readonly level?: SchemaLevel | undefined },
): Promise<CheckedSchema | RegistryRefusal> {
  const { type, normalize } = text
  const [now, found] = await Promise.all([
    registry.surveyOne(subject),
    registry.explain(subject, text, { normalize, level }),
  ])
  const { mode } = now
  const trouble = mode === 'READWRITE' ? null : `The subject is in mode ${mode}, so no operator can register here.`
  if (!isRefusal(found)) {
    const { misfits, schema, nextVersion, existing } = found
    return {
      ...{ subject, mode, trouble, existing, nextVersion },
      valid: true,
      compatible: misfits.length === 0,
      ...{ type: found.type, level: found.level },
      compared: [...found.compared],
      failing: misfits.map(({ differences, ...row }) => ({ ...row, reasons: reasonsOf(differences) })),
      pretty: pretty(found.type, schema),
    }
  }
  if (!BAD_SCHEMA.includes(found.code)) return found
  return {
    ...{ subject, mode, type, level: level ?? now.level },
    ...{ valid: false, compatible: false, trouble: found.message, compared: [], failing: [], existing: null },
    nextVersion: (now.subject.versions.at(-1)?.version ?? 0) + 1,
    pretty: null,
  }
}

/** Resolves with the version that has the schema then. Declines with the first reasons if it does not fit. */
export async function registerSchema(
  registry: Registry,
  subject: string,
  text: SchemaText,
): Promise<RegisteredSchema | RegistryRefusal | Declined> {
  const made = await registry.register(subject, text)
  if (!isRefusal(made)) return await shownVersion(registry, made)
  if (made.code !== INCOMPATIBLE) return made
  const checked = await checkSchema(registry, subject, text)
  const why = isRefusal(checked) ? null : misfitInWords(checked)
  return why === null ? made : declined('INCOMPATIBLE_SCHEMA', why)
}

/** Returns why a schema does not fit its subject, with the first reasons; null if it fits. */
function misfitInWords({ subject, level, failing }: CheckedSchema): string | null {
  const [first] = failing
  if (first === undefined) return null
  const versions = failing.map(({ version }) => version).join(', ')
  const reasons = first.reasons.slice(0, MOST_NAMED).map(each => `${placeInWords(each.path)}: ${each.description}`)
  const rest = first.reasons.length - reasons.length
  return `The schema does not fit ${failing.length === 1 ? 'version' : 'versions'} ${versions} of '${cut(subject)}' (level ${level}). Version ${first.version}: ${reasons.join('; ')}${rest === 0 ? '' : `; and ${rest} more`}`
}

export interface DeletionOptions {
  readonly isPermanent: boolean
  readonly isDryRun: boolean
}

/**
 * Deletes one version, or with null the whole subject. A dry run tells about referrers and topics and changes nothing.
 * Otherwise it declines if other schemas refer to a version, and names them.
 */
export async function deleteSchemas(
  rooms: SchemaRooms,
  subject: string,
  version: string | null,
  { isPermanent, isDryRun }: DeletionOptions,
): Promise<SchemaDeletion | RegistryRefusal | Declined> {
  const { registry } = rooms
  // The topics are those before the deletion.
  const [now, topics] = await Promise.all([registry.surveyOne(subject), topicsJudgedBy(rooms, subject)])
  const deleted = await remove(registry, subject, version, { isPermanent, isDryRun })
  if (isRefusal(deleted)) {
    if (deleted.code !== REFERENCED) return deleted
    const who = await referrersInWords(registry, subject, version, isPermanent)
    const what =
      version === null ? `the subject '${cut(subject)}'` : `version ${version} of the subject '${cut(subject)}'`
    return who === null ? deleted : declined('REFERENCED', `Other schemas refer to ${what}: ${who}. Delete them first.`)
  }
  const known = await registry.referrersTo(subject)
  const referrers = deleted.referrers.map(each => {
    const its = known.find(one => one.subject === each.subject && one.version === each.version)
    return { ...referrerOf({ ...each, isDeleted: its?.isDeleted ?? false }), refersTo: each.refersTo }
  })
  const live = liveVersions(now.subject)
  return {
    subject,
    applied: !isDryRun,
    permanent: isPermanent,
    versions: [...deleted.versions],
    referrers,
    topics: [...topics],
    endsJudging: live.length > 0 && live.every(each => deleted.versions.includes(each.version)),
  }
}

/** Resolves with the versions that a deletion would have to wait for, in words; null if nothing refers to them. */
async function referrersInWords(
  registry: Registry,
  subject: string,
  version: string | null,
  isPermanent: boolean,
): Promise<string | null> {
  const asked = await remove(registry, subject, version, { isPermanent, isDryRun: true })
  if (isRefusal(asked) || asked.referrers.length === 0) return null
  const named = asked.referrers.slice(0, MOST_NAMED).map(each => `'${each.subject}' version ${each.version}`)
  const rest = asked.referrers.length - named.length
  return `${named.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}`
}

async function remove(registry: Registry, subject: string, version: string | null, options: DeletionOptions) {
  return version === null
    ? await registry.deleteSubject(subject, options)
    : await registry.deleteVersion(subject, version, options)
}
