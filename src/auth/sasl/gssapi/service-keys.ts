// The keys of the broker's principal, from its keytab. The file is read again while the broker runs: a new version of
// the key, which kadmin adds to the file, counts at once, and a key that was removed counts for five more seconds. A
// file that cannot be used leaves the keys as they are.

import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import { ENCTYPES, enctypeName, Key } from './enctypes.ts'
import { entriesOf, KeytabError, readKeytab } from './keytab.ts'
import { nameOf, type Principal } from './names.ts'

/** The file is read again at this age. */
const OLD_MS = 5_000
/** The largest file in bytes: thousands of keys. */
const MOST_BYTES = 1024 * 1024
/** A ticket that does not say its key version is tried with this many keys. */
const MOST_TRIED = 8

export interface ServiceKeys {
  /** Resolves with the keys that may have encrypted a ticket, the newest first. */
  find(enctype: number, kvno: number | null): Promise<readonly Key[]>
  /**
   * Reads the file again because no key fits. A client can cause that as often as it likes, so the file is read only if
   * its size or its times have changed.
   */
  lookAgain(): Promise<void>
}

export interface ServiceKeysRooms {
  readonly clock: Clock
  readonly logger: Logger
}

interface Loaded {
  readonly hash: string
  readonly keys: readonly { readonly kvno: number; readonly key: Key }[]
}

/**
 * Resolves with the keys of the principal. Throws KeytabError, whose message completes a sentence that begins with the
 * name of the file.
 */
export async function openServiceKeys(
  path: string,
  principal: Principal,
  permits: (enctype: number) => boolean,
  { clock, logger }: ServiceKeysRooms,
): Promise<ServiceKeys> {
  /** The stamp of the file at the last read, which may have failed. */
  let seen = ''
  const read = async (): Promise<Loaded> => {
    // The stamp comes first, so that a change between the two is found later.
    seen = await stampOf(path)
    const file = await readFile(path).catch(cannotRead)
    return { hash: createHash('sha256').update(file).digest('hex'), keys: keysIn(file, principal, permits) }
  }
  let loaded = await read()
  let readAtMs = clock.monotonic()
  let reading: Promise<void> | null = null
  let failures = 0

  const readAgain = async (onlyIfChanged: boolean): Promise<void> => {
    try {
      if (onlyIfChanged && (await stampOf(path)) === seen) return
      readAtMs = clock.monotonic()
      const found = await read()
      failures = 0
      if (found.hash === loaded.hash) return
      loaded = found
      const versions = [...new Set(found.keys.map(({ kvno }) => kvno))].join(', ')
      logger.info('the keytab was read again, because it has changed', { principal: nameOf(principal), versions })
    } catch (error) {
      if (!(error instanceof KeytabError)) throw error
      // One failure may be a file that is being written.
      if (++failures === 2) logger.error(`the broker keeps its Kerberos keys, because ${path} ${error.message}`)
    } finally {
      reading = null
    }
  }
  /** Callers at the same time share one read. */
  const share = (onlyIfChanged: boolean): Promise<void> => {
    reading ??= readAgain(onlyIfChanged)
    return reading
  }

  return {
    async find(enctype, kvno) {
      if (clock.monotonic() - readAtMs >= OLD_MS) await share(false)
      const fitting = loaded.keys.filter(entry => entry.key.enctype === enctype && (kvno ?? entry.kvno) === entry.kvno)
      return fitting.slice(0, MOST_TRIED).map(({ key }) => key)
    },
    lookAgain: () => share(true),
  }
}

/** Resolves with a text that differs after every usual change of the file. */
async function stampOf(path: string): Promise<string> {
  const found = await stat(path).catch(cannotRead)
  if (!found.isFile()) throw new KeytabError('is not a regular file')
  if (found.size > MOST_BYTES) throw new KeytabError(`has more than ${MOST_BYTES} bytes`)
  return `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`
}

function cannotRead(error: unknown): never {
  const { code = '', message } = error as NodeJS.ErrnoException
  throw new KeytabError(`cannot be read: ${REASONS[code] ?? message}`, { cause: error })
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
}

function keysIn(file: Buffer, principal: Principal, permits: (enctype: number) => boolean): Loaded['keys'] {
  const all = readKeytab(file)
  const own = entriesOf(all, principal)
  if (own.length === 0) {
    const others = [...new Set(all.map(entry => nameOf(entry.principal)))].slice(0, 3).join(', ')
    throw new KeytabError(
      `has no key of ${nameOf(principal)}; it has ${others === '' ? 'no keys' : `keys of ${others}`}`,
    )
  }
  const supported = own.filter(({ enctype }) => ENCTYPES.some(({ number }) => number === enctype))
  const found = [...new Set(own.map(({ enctype }) => enctypeName(enctype)))].join(', ')
  if (supported.length === 0) {
    const known = ENCTYPES.map(({ name }) => name).join(', ')
    throw new KeytabError(`has only keys of ${found} for ${nameOf(principal)}; supported are ${known}`)
  }
  const wrong = supported.find(({ enctype, bytes }) => bytes.length !== keyBytesOf(enctype))
  if (wrong !== undefined)
    throw new KeytabError(`has a key of ${enctypeName(wrong.enctype)} with ${wrong.bytes.length} bytes`)
  const permitted = supported.filter(({ enctype }) => permits(enctype))
  if (permitted.length === 0)
    throw new KeytabError(`has only keys of ${found}, and permitted_enctypes of krb5.conf allows none of them`)
  return permitted.map(({ kvno, enctype, bytes }) => ({ kvno, key: new Key(enctype, bytes) }))
}

function keyBytesOf(enctype: number): number | undefined {
  return ENCTYPES.find(({ number }) => number === enctype)?.keyBytes
}
