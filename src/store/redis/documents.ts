// Documents on Redis. Each document is a hash, changed by the Function `commit` and listed through the index of its
// bucket. Commits and loads use the connection for writes, in call order. A field of the document is stored in the
// hash with the prefix `f`, beside the fields `name` and `version`. Two kinds are stored in another way:
// fixed-documents.ts.

import {
  type Commit,
  type Committed,
  type Conflict,
  type Document,
  OutcomeUnknown,
  StoreUnavailable,
  UnreadableDocument,
} from '../store.ts'
import { followAsk, type RedisLinks, type Reply } from './client/links.ts'
import { RedisError } from './client/redis-error.ts'
import { encodeFields } from './fields.ts'
import { commitFixed, listFixed, loadFixed } from './fixed-documents.ts'
import { fcall, withFunctions, wordsOf } from './functions.ts'
import type { Keys } from './keys.ts'
import { refuse } from './refusals.ts'
import type { Rounds } from './rounds.ts'

export interface DocumentsRooms {
  readonly links: RedisLinks
  readonly keys: Keys
  readonly rounds: Rounds
  /** The number of replicas that must have a commit; 0 on a Redis without streams. */
  readonly replicas: number
}

export interface Documents {
  load(kind: string, name: string): Promise<Document | null>
  version(kind: string, name: string): Promise<number>
  list(kind: string): Promise<readonly Document[]>
  names(kind: string): Promise<readonly string[]>
  commit(commit: Commit): Promise<Committed | Conflict>
}

const FIELD_PREFIX = 'f'

/**
 * The same value as DELETED of functions.lua. A field with this value is being deleted, or was being deleted when
 * Redis was killed.
 */
const DELETED = Buffer.from('\0\0ketch:deleted\0\0')

/** The number of documents that are loaded at once. */
const LIST_AT_ONCE = 256

export function createDocuments({ links, keys, rounds, replicas }: DocumentsRooms): Documents {
  /**
   * Reads with a command, and returns only commits that the replicas have too. It sends a write behind all earlier
   * ones, and WAIT counts the replicas that have it. So no broker acts on a commit that a fail-over may undo. Until
   * enough replicas have been connected once, it does not wait: without documents a broker could not even start.
   */
  async function readAt(key: string, counter: string, command: readonly string[]): Promise<Reply> {
    if (replicas === 0) return await followAsk(links, key, links.write(key), link => link.send(command))
    const { replies, isSettled } = await withFunctions(links, () =>
      followAsk(links, key, links.write(key), async link => {
        const written = await rounds.writeEach(link, [command, fcall('touch', [counter], [])])
        for (const reply of written.replies) if (reply instanceof RedisError) throw reply
        return written
      }),
    )
    if (!isSettled) {
      throw new StoreUnavailable(`reading ${key}: ${replicas} replicas have not confirmed in time what it holds`)
    }
    return replies[0] as Reply
  }

  async function load(kind: string, name: string): Promise<Document | null> {
    const fixed = keys.fixed(kind)
    if (fixed !== null) return await loadFixed(links, fixed, kind, name)
    const { document: key, counter } = keys.document(kind, name)
    const reply = await readAt(key, counter, ['HGETALL', key]).catch(error => refuseReading(error, kind, name, key))
    return decodeDocument(kind, name, reply as readonly Buffer[])
  }

  /**
   * Like `load`, but if the key has another type of value than a document, it returns a document without version and
   * fields.
   */
  async function find(kind: string, name: string): Promise<Document | null> {
    try {
      return await load(kind, name)
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      return { kind, name, version: 0, fields: new Map() }
    }
  }

  /** Resolves with the names in the index of a kind. */
  async function namesOf(kind: string): Promise<readonly string[]> {
    const indexes = await Promise.all(
      keys
        .buckets(kind)
        .map(({ index, counter }) =>
          readAt(index, counter, ['SMEMBERS', index]).catch(error => refuse(error, `reading ${index}`)),
        ),
    )
    return indexes.flatMap(wordsOf)
  }

  function settled(outcome: Committed | Conflict, isSettled: boolean, what: string): Committed | Conflict {
    if (outcome.kind === 'conflict' || isSettled) return outcome
    throw new OutcomeUnknown(`changing ${what}: done, but ${replicas} replicas have not confirmed it in time`)
  }

  return {
    load,

    // It does not wait for replicas: a caller that sees a new version loads the document before it acts.
    async version(kind, name) {
      if (keys.fixed(kind) !== null) return (await load(kind, name))?.version ?? 0
      const { document } = keys.document(kind, name)
      const asks = ['HGET', document, 'version']
      const reply = await followAsk(links, document, links.write(document), link => link.send(asks)).catch(error =>
        refuseReading(error, kind, name, document),
      )
      return versionOf(kind, name, reply as Buffer | null)
    },

    async names(kind) {
      const fixed = keys.fixed(kind)
      return fixed === null ? await namesOf(kind) : (await listFixed(links, fixed, kind)).map(({ name }) => name)
    },

    async list(kind) {
      const fixed = keys.fixed(kind)
      if (fixed !== null) return await listFixed(links, fixed, kind)
      const names = await namesOf(kind)
      const found: Document[] = []
      for (let at = 0; at < names.length; at += LIST_AT_ONCE) {
        const some = await Promise.all(names.slice(at, at + LIST_AT_ONCE).map(name => find(kind, name)))
        // A document is null if it was removed after the index was read.
        found.push(...some.filter(document => document !== null))
      }
      return found
    },

    async commit(commit) {
      const {
        kind,
        name,
        expect,
        changes,
        remove = false,
        mayOverfill = false,
        isAcknowledged = false,
        keepMs,
      } = commit
      const fixed = keys.fixed(kind)
      if (fixed !== null) {
        const done = await commitFixed(links, fixed, commit, (link, call) => rounds.writeOne(link, call))
        return settled(done.outcome, done.isSettled, `${kind} ${name}`)
      }
      const { document, index, counter } = keys.document(kind, name)
      const fields = encodeFields(changes.map(({ key, value }) => ({ key: FIELD_PREFIX + key, value })))
      const addsNothing = remove || (expect > 0 && changes.every(({ value }) => value === null))
      const call = fcall(
        addsNothing || mayOverfill ? 'recommit' : 'commit',
        [document, index, counter],
        [name, expect, remove ? 1 : 0, keepMs === undefined ? '' : Math.ceil(keepMs), ...fields],
      )
      const { reply, isConfirmed, isSettled } = await withFunctions(links, () =>
        followAsk(links, document, links.write(document), link => rounds.writeOne(link, call)),
      ).catch(error => refuse(error, `changing ${document}`))
      const [kindOfAnswer, version, incarnation] = wordsOf(reply)
      if (kindOfAnswer === 'lost') return { kind: 'conflict', version: 0, isLost: true }
      const outcome: Committed | Conflict =
        kindOfAnswer === 'conflict'
          ? { kind: 'conflict', version: Number(version) }
          : { kind: 'committed', version: Number(version), incarnation: incarnation! }
      return settled(outcome, isAcknowledged ? isConfirmed : isSettled, document)
    },
  }
}

function decodeDocument(kind: string, name: string, stored: readonly Buffer[]): Document | null {
  if (stored.length === 0) return null
  let version: Buffer | null = null
  const fields = new Map<string, Uint8Array>()
  for (let at = 0; at < stored.length; at += 2) {
    const key = stored[at]!.toString()
    const value = stored[at + 1]!
    if (key.startsWith(FIELD_PREFIX)) {
      if (!value.equals(DELETED)) fields.set(key.slice(FIELD_PREFIX.length), value)
    } else if (key === 'version') version = value
  }
  return { kind, name, version: versionOf(kind, name, version ?? Buffer.alloc(0)), fields }
}

/**
 * Returns the stored version. Throws if the hash has no version: a writer would take the document for absent and
 * overwrite it.
 */
function versionOf(kind: string, name: string, stored: Buffer | null): number {
  if (stored === null) return 0
  const version = Number(stored.toString())
  if (Number.isSafeInteger(version) && version > 0) return version
  throw unreadable(kind, name, 'its version is no number')
}

function refuseReading(error: unknown, kind: string, name: string, key: string): never {
  if (error instanceof RedisError && error.code === 'WRONGTYPE')
    throw unreadable(kind, name, 'its key holds no hash', { cause: error })
  refuse(error, `reading ${key}`)
}

function unreadable(kind: string, name: string, defect: string, options?: ErrorOptions): UnreadableDocument {
  return new UnreadableDocument(
    `The document stored as ${kind} ${JSON.stringify(name)} cannot be read: ${defect}.`,
    options,
  )
}
