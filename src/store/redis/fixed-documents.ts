// Documents whose key and form the specification fixes, so that other programs can write and read them too. A SASL
// credential is one hash; the rules of a principal are one member of a common hash. Nothing else may be stored there,
// so the version of such a document is a digest of its content. A commit is still a compare-and-set, but if a
// document returns to an earlier content, it has its earlier version again.
//
// A commit waits for replicas like any other commit. A read does not wait, so it may return data that a fail-over
// will undo.

import { createHash } from 'node:crypto'
import { assert } from '../../base/assert.ts'
import { type Commit, type Committed, type Conflict, type Document, UnreadableDocument } from '../store.ts'
import { type Argument, followAsk, type Link, type RedisLinks } from './client/links.ts'
import { RedisError } from './client/redis-error.ts'
import { encodeFields } from './fields.ts'
import { type FunctionName, fcall, withFunctions, wordsOf } from './functions.ts'
import { type FixedPlace, type FixedPlaces, placeOf } from './keys.ts'
import { refuse } from './refusals.ts'
import type { WrittenOne } from './rounds.ts'

/** The number of keys that a server looks at in one step of a listing, so that no client waits long behind it. */
const SCAN_COUNT = '1000'

/** The number of documents that are loaded at once. */
const LIST_AT_ONCE = 256

export async function loadFixed(
  links: RedisLinks,
  places: FixedPlaces,
  kind: string,
  name: string,
): Promise<Document | null> {
  const place = placeOf(places, name)
  const { key } = place
  const ask = (command: readonly Argument[]) =>
    followAsk(links, key, links.write(key), link => link.send(command)).catch(
      refuseReading(`${kind} ${JSON.stringify(name)}`, key),
    )
  if (place.form === 'member') {
    const value = (await ask(['HGET', key, place.member])) as Buffer | null
    return value === null ? null : documentOf(kind, name, [[place.field, value]], versionOf([value]))
  }
  const flat = (await ask(['HGETALL', key])) as readonly Buffer[]
  return hashDocument(kind, name, flat)
}

export async function listFixed(links: RedisLinks, places: FixedPlaces, kind: string): Promise<readonly Document[]> {
  if (places.form === 'member') {
    const { key, field } = places
    const command = ['HGETALL', key]
    const flat = (await followAsk(links, key, links.write(key), link => link.send(command)).catch(
      refuseReading(kind, key),
    )) as readonly Buffer[]
    return pairsOf(flat).map(([member, value]) =>
      documentOf(kind, member.toString(), [[field, value]], versionOf([value])),
    )
  }
  const { prefix } = places
  const keys = new Set<string>()
  const scans = links.primaries().map(link => scan(link, prefix, keys))
  await Promise.all(scans).catch(error => refuse(error, `looking for ${prefix}*`))
  const names = Array.from(keys, key => key.slice(prefix.length))
  const found: Document[] = []
  for (let at = 0; at < names.length; at += LIST_AT_ONCE) {
    const some = names.slice(at, at + LIST_AT_ONCE).map(name => loadFixed(links, places, kind, name))
    // A document is null if it was removed after its name was found.
    found.push(...(await Promise.all(some)).filter(document => document !== null))
  }
  return found
}

/** Sends the commit with `write`. Resolves to its outcome, and whether the outcome is settled (rounds.ts). */
export function commitFixed(
  links: RedisLinks,
  places: FixedPlaces,
  { name, expect, changes, remove = false }: Commit,
  write: (link: Link, call: readonly Argument[]) => Promise<WrittenOne>,
): Promise<{ readonly outcome: Committed | Conflict; readonly isSettled: boolean }> {
  const place = placeOf(places, name)
  const { key } = place
  const given = remove ? [] : place.form === 'hash' ? encodeFields(changes) : [valueFor(place, changes)]
  const functionName: FunctionName = remove ? 'displace' : 'place'
  const call = fcall(functionName, [key], [place.form === 'hash' ? '' : place.member, expect, remove ? 1 : 0, ...given])
  return withFunctions(links, () => followAsk(links, key, links.write(key), link => write(link, call)))
    .catch(error => refuse(error, `changing ${key}`))
    .then(({ reply, isSettled }) => {
      const [answer, version] = wordsOf(reply)
      const kind = answer === 'conflict' ? 'conflict' : 'committed'
      return { outcome: { kind, version: Number(version) }, isSettled }
    })
}

/**
 * Returns a handler for errors of a read. It throws UnreadableDocument if another program wrote a key of another
 * type, and StoreUnavailable for other error replies.
 */
function refuseReading(document: string, key: string): (error: unknown) => never {
  return error => {
    if (error instanceof RedisError && error.code === 'WRONGTYPE')
      throw new UnreadableDocument(`The document stored as ${document} cannot be read: its key holds no hash.`, {
        cause: error,
      })
    refuse(error, `reading ${key}`)
  }
}

function valueFor({ field }: Extract<FixedPlace, { form: 'member' }>, changes: Commit['changes']): Uint8Array {
  const [change] = changes
  assert(changes.length === 1 && change!.key === field && change!.value !== null, `such a document is its ${field}`)
  return change!.value
}

async function scan(link: Link, prefix: string, into: Set<string>): Promise<void> {
  const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, '\\$&')}*`
  for (let cursor = '0'; ; ) {
    const answer = await link.send(['SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT, 'TYPE', 'hash'])
    const [next, keys] = answer as readonly [Buffer, readonly Buffer[]]
    for (const key of keys) into.add(key.toString())
    cursor = String(next)
    if (cursor === '0') return
  }
}

function pairsOf(flat: readonly Buffer[]): (readonly [Buffer, Buffer])[] {
  return Array.from({ length: flat.length / 2 }, (_, at) => [flat[2 * at]!, flat[2 * at + 1]!] as const)
}

function hashDocument(kind: string, name: string, flat: readonly Buffer[]): Document | null {
  if (flat.length === 0) return null
  const pairs = pairsOf(flat).sort(([one], [other]) => Buffer.compare(one, other))
  const parts = pairs.flatMap(pair => pair.flatMap(each => [Buffer.from(`${each.length}:`), each]))
  return documentOf(
    kind,
    name,
    pairs.map(([field, value]) => [field.toString(), value] as const),
    versionOf(parts),
  )
}

function documentOf(
  kind: string,
  name: string,
  fields: readonly (readonly [string, Uint8Array])[],
  version: number,
): Document {
  return { kind, name, version, fields: new Map(fields) }
}

/** Returns the same version as `versionAt` of functions.lua. */
function versionOf(parts: readonly Uint8Array[]): number {
  const digest = createHash('sha1')
  for (const part of parts) digest.update(part)
  return Number.parseInt(digest.digest('hex').slice(0, 12), 16) + 1
}
