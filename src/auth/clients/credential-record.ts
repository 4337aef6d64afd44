// The form of SASL credentials in the store: a document of kind `credential`, named by the username. On Redis it is
// the hash `{namespace}:broker:credentials:{username}` with exactly these fields. No password and no salted password
// is ever stored.
//
//   mechanism      SCRAM-SHA-256 or PLAIN
//   password_hash  SCRAM: StoredKey. PLAIN: the salted password's hash, PBKDF2WithHmacSHA256 of 256 bits. Base64
//   server_key     SCRAM only: ServerKey, Base64 (RFC 5802, section 3)
//   salt           Base64; 128 bits, unless a client chose another salt (KIP-554)
//   iterations     in digits
//   tenant_id      left out for a user without a tenant
//
// This file does not decide which client may connect.

import { createHash, createHmac, pbkdf2, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { ITERATIONS, MECHANISMS, type Mechanism } from '../../api/words.ts'
import type { Random } from '../../base/random.ts'
import type { DocumentKind } from '../../store/document-kinds.ts'
import { type Row, UnreadableDocument } from '../../store/store.ts'

export const KIND: DocumentKind = 'credential'

/** The bytes of a salt that the broker chooses. */
export const SALT_BYTES = 16
/** The bytes of every hash here, and of the salted password: those of SHA-256. */
export const HASH_BYTES = 32

export interface Credential {
  readonly mechanism: Mechanism
  readonly passwordHash: string
  /** Null for PLAIN. */
  readonly serverKey: string | null
  readonly salt: string
  readonly iterations: number
  readonly tenantId: string | null
}

const derive = promisify(pbkdf2)

/**
 * Makes the credential to store for a password, with a new salt. The password's UTF-8 bytes are hashed as they are,
 * because Kafka's Java client and librdkafka do the same. The iterations take one thread of Node's pool.
 */
export async function makeCredential(
  { mechanism, iterations, tenantId }: Pick<Credential, 'mechanism' | 'iterations' | 'tenantId'>,
  password: string,
  random: Random,
): Promise<Credential> {
  const salt = random.bytes(SALT_BYTES)
  const salted = await saltPassword(password, salt, iterations)
  const common = { mechanism, salt: salt.toString('base64'), iterations, tenantId }
  if (mechanism === 'PLAIN') return { ...common, passwordHash: salted.toString('base64'), serverKey: null }
  return { ...common, ...scramKeysOf(salted) }
}

/** Resolves with the hash of a password that a PLAIN credential stores. Takes one thread of Node's pool. */
async function saltPassword(password: string, salt: Uint8Array, iterations: number): Promise<Buffer> {
  return await derive(password, salt, iterations, HASH_BYTES, 'sha256')
}

/** Resolves with whether this is the password of the credential. Takes one thread of Node's pool. */
export async function isPasswordOf(password: string, credential: Credential): Promise<boolean> {
  const { mechanism, passwordHash, salt, iterations } = credential
  const salted = await saltPassword(password, Buffer.from(salt, 'base64'), iterations)
  const hash = mechanism === 'PLAIN' ? salted : Buffer.from(scramKeysOf(salted).passwordHash, 'base64')
  return timingSafeEqual(hash, Buffer.from(passwordHash, 'base64'))
}

/** Returns the StoredKey and the ServerKey of a salted password (RFC 5802, section 3). */
export function scramKeysOf(saltedPassword: Uint8Array): Pick<Credential, 'passwordHash' | 'serverKey'> {
  const clientKey = createHmac('sha256', saltedPassword).update('Client Key').digest()
  return {
    passwordHash: createHash('sha256').update(clientKey).digest('base64'),
    serverKey: createHmac('sha256', saltedPassword).update('Server Key').digest('base64'),
  }
}

/** Returns the rows of all fields, so that no field of an earlier credential remains. */
export function rowsOf({ mechanism, passwordHash, serverKey, salt, iterations, tenantId }: Credential): readonly Row[] {
  return [
    { key: 'mechanism', value: Buffer.from(mechanism) },
    { key: 'password_hash', value: Buffer.from(passwordHash) },
    { key: 'server_key', value: serverKey === null ? null : Buffer.from(serverKey) },
    { key: 'salt', value: Buffer.from(salt) },
    { key: 'iterations', value: Buffer.from(String(iterations)) },
    { key: 'tenant_id', value: tenantId === null ? null : Buffer.from(tenantId) },
  ]
}

/** Returns the credential. Throws UnreadableDocument if the fields are not in the form that `rowsOf` writes. */
export function credentialOf(username: string, fields: ReadonlyMap<string, Uint8Array>): Credential {
  const read = (name: string) => {
    const value = fields.get(name)
    return value === undefined ? null : Buffer.from(value).toString()
  }
  const mechanism = MECHANISMS.find(each => each === read('mechanism'))
  const [passwordHash, serverKey, salt] = [read('password_hash'), read('server_key'), read('salt')]
  const iterations = Number(read('iterations') ?? ITERATIONS.fallback)
  const wrong =
    mechanism === undefined
      ? 'mechanism'
      : !isHash(passwordHash)
        ? 'password_hash'
        : mechanism === 'SCRAM-SHA-256' && !isHash(serverKey)
          ? 'server_key'
          : !isBase64(salt)
            ? 'salt'
            : !(iterations >= ITERATIONS.min && iterations <= ITERATIONS.max && Number.isInteger(iterations))
              ? 'iterations'
              : null
  if (wrong !== null) {
    const what = `The stored credential of ${JSON.stringify(username)} cannot be read`
    throw new UnreadableDocument(`${what}: it has no ${wrong} that this version knows.`)
  }
  const tenantId = read('tenant_id') || null
  return { mechanism: mechanism!, passwordHash: passwordHash!, serverKey, salt: salt!, iterations, tenantId }
}

function isHash(text: string | null): boolean {
  return isBase64(text) && Buffer.from(text!, 'base64').length === HASH_BYTES
}

function isBase64(text: string | null): boolean {
  return text !== null && text !== '' && Buffer.from(text, 'base64').toString('base64') === text
}
