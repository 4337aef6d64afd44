// References between schemas: resolved for a schema that a client sends, and followed for a stored one. A stored
// reference has the identity of its schema, so it is followed also after its subject was deleted for good.

import { UnreadableDocument } from '../../store/store.ts'
import { type Dependency, MOST_REFERENCES, MOST_SCHEMA_BYTES_WITH_REFERENCES, type SchemaText } from '../format.ts'
import { type RegistryRefusal, refusals } from '../refusals.ts'
import type { Content, Reference, StoredContent, StoredReference } from '../state/content.ts'
import type { RegistryState } from '../state/state.ts'
import { latestLive, type Subject } from '../state/subject.ts'

/**
 * Resolves references that a client sends: version -1 is the latest one. `own` is the subject whose change is being
 * decided. Only with `mayBeDeleted` may they name versions that are deleted softly.
 */
export async function resolveReferences(
  state: RegistryState,
  references: readonly Reference[],
  { own, mayBeDeleted }: { readonly own: Subject; readonly mayBeDeleted: boolean },
): Promise<readonly StoredReference[] | RegistryRefusal> {
  if (references.length > MOST_REFERENCES)
    return refusals.tooLarge(
      `Schema is too large: it has ${references.length} references; the most are ${MOST_REFERENCES}`,
    )
  const resolved: StoredReference[] = []
  for (const { name, subject, version } of references) {
    const named = subject === own.name ? own : await state.subjects.fresh(subject)
    const row = version === -1 ? latestLive(named) : named.versions.find(each => each.version === version)
    if (row == null || (row.isDeleted && !mayBeDeleted)) return noSuchReference({ name, subject, version })
    resolved.push({ name, subject, version: row.version, guid: row.guid })
  }
  return resolved
}

function noSuchReference({ name, subject, version }: Reference): RegistryRefusal {
  const which = version === -1 ? 'any version' : `version ${version}`
  return refusals.invalidSchema(
    `Invalid schema: no schema reference found for subject "${subject}" and ${which} (reference "${name}")`,
  )
}

/**
 * Makes sure that no version to which the references lead is deleted while their schema is registered in `own`.
 * Resolves with null, or with the refusal if one has been deleted since it was resolved. `key` is that of the holds.
 */
export async function holdReferences(
  { holds }: RegistryState,
  key: string,
  references: readonly StoredReference[],
  { own, mayBeDeleted }: { readonly own: Subject; readonly mayBeDeleted: boolean },
): Promise<RegistryRefusal | null> {
  const missing = await holds.hold(key, own.name, othersOf(references, own.name), ({ versions }, { version, guid }) =>
    versions.some(each => each.version === version && each.guid === guid && (mayBeDeleted || !each.isDeleted)),
  )
  return missing === null ? null : noSuchReference(missing)
}

/** Returns those that lead to other subjects. A subject that changes holds itself. */
export function othersOf(references: readonly StoredReference[], own: string): readonly StoredReference[] {
  return references.filter(({ subject }) => subject !== own)
}

/** Returns the references in the order of their names, each once. */
export function normalizedReferences(references: readonly StoredReference[]): readonly StoredReference[] {
  const keyOf = ({ name, subject, version }: Reference) => JSON.stringify([name, subject, version])
  const once = new Map(references.map(each => [keyOf(each), each]))
  return [...once].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each)
}

/**
 * Resolves with all that these references lead to, each name once, and each behind those that it needs. Stops when
 * there are more than MOST_REFERENCES, or more bytes than a schema may have with its references: it is refused then.
 */
export async function dependenciesOf(
  state: RegistryState,
  references: readonly StoredReference[],
): Promise<readonly Dependency[]> {
  const found = new Map<string, Dependency>()
  const seen = new Set<string>()
  let length = 0
  const isFull = () => seen.size > MOST_REFERENCES || length > MOST_SCHEMA_BYTES_WITH_REFERENCES
  const visit = async (level: readonly StoredReference[]): Promise<void> => {
    for (const { name, guid } of level) {
      if (seen.has(name) || isFull()) continue
      seen.add(name)
      const content = await contentOf(state, guid)
      length += content.schema.length
      await visit(content.references)
      found.set(name, { name, text: content.schema })
    }
  }
  await visit(references)
  return [...found.values()]
}

/** Resolves with the text of a schema and of all that it refers to. */
export async function sourceOf(
  state: RegistryState,
  { schema, references }: Pick<Content, 'schema' | 'references'>,
): Promise<SchemaText> {
  return { text: schema, dependencies: references.length === 0 ? [] : await dependenciesOf(state, references) }
}

/** Resolves with a schema that a version or a reference names. */
export async function contentOf(state: RegistryState, guid: string): Promise<StoredContent> {
  const content = await state.contents.get(guid)
  if (content === null) throw new UnreadableDocument(`The store has lost the schema ${guid}.`)
  return content
}
