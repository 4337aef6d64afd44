// The encryption types of Kerberos that the broker accepts, and what their keys do: encrypt with integrity, and compute
// checksums (RFC 3961, section 5.3; RFC 3962; RFC 8009). DES, 3DES, RC4 and Camellia are known by name only, so that
// an error can name them.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../../base/random.ts'
import { BLOCK, decryptCts, encryptCts, ZERO_IV } from './aes-cts.ts'
import { deriveRfc3961, deriveRfc8009 } from './key-derivation.ts'
import { Refused } from './refused.ts'

interface Enctype {
  readonly number: number
  readonly name: string
  /** Other names in krb5.conf. */
  readonly aliases: readonly string[]
  readonly hash: 'sha1' | 'sha256' | 'sha384'
  readonly keyBytes: number
  /** The bytes of the code that authenticates a ciphertext, and of a checksum. */
  readonly macBytes: number
}

/** The strongest first. */
export const ENCTYPES: readonly Enctype[] = [
  {
    number: 20,
    name: 'aes256-cts-hmac-sha384-192',
    aliases: ['aes256-sha2'],
    hash: 'sha384',
    keyBytes: 32,
    macBytes: 24,
  },
  {
    number: 19,
    name: 'aes128-cts-hmac-sha256-128',
    aliases: ['aes128-sha2'],
    hash: 'sha256',
    keyBytes: 16,
    macBytes: 16,
  },
  {
    number: 18,
    name: 'aes256-cts-hmac-sha1-96',
    aliases: ['aes256-cts', 'aes-256', 'aes256-sha1'],
    hash: 'sha1',
    keyBytes: 32,
    macBytes: 12,
  },
  {
    number: 17,
    name: 'aes128-cts-hmac-sha1-96',
    aliases: ['aes128-cts', 'aes-128', 'aes128-sha1'],
    hash: 'sha1',
    keyBytes: 16,
    macBytes: 12,
  },
]

const OTHER_NAMES: Readonly<Record<number, string>> = {
  1: 'des-cbc-crc',
  2: 'des-cbc-md4',
  3: 'des-cbc-md5',
  16: 'des3-cbc-sha1',
  23: 'arcfour-hmac',
  24: 'arcfour-hmac-exp',
  25: 'camellia128-cts-cmac',
  26: 'camellia256-cts-cmac',
}

export function enctypeName(number: number): string {
  return ENCTYPES.find(enctype => enctype.number === number)?.name ?? OTHER_NAMES[number] ?? `enctype ${number}`
}

/** The uses of a key (RFC 4120, section 7.5.1; RFC 4121, section 2). */
export const USAGE = {
  ticket: 2,
  authenticator: 11,
  apRepPart: 12,
  acceptorSeal: 22,
  initiatorSeal: 24,
} as const

/** The last byte of the constant from which a key is derived (RFC 3961, section 5.3). */
const PURPOSE = { encryption: 0xaa, integrity: 0x55, checksum: 0x99 } as const

interface Pair {
  readonly encryption: Buffer
  readonly integrity: Buffer
}

/** A key of a supported enctype. Nothing that prints the object shows its bytes. */
export class Key {
  readonly #enctype: Enctype
  readonly #bytes: Buffer
  readonly #pairs = new Map<number, Pair>()

  /** Throws Refused if the enctype is not supported, or if the number of bytes is wrong. */
  constructor(enctypeNumber: number, bytes: Buffer) {
    const enctype = ENCTYPES.find(({ number }) => number === enctypeNumber)
    if (enctype === undefined) throw new Refused(`unsupported encryption type: ${enctypeName(enctypeNumber)}`)
    if (bytes.length !== enctype.keyBytes) throw new Refused(`a key of ${enctype.name} has ${bytes.length} bytes`)
    this.#enctype = enctype
    this.#bytes = Buffer.from(bytes)
  }

  get enctype(): number {
    return this.#enctype.number
  }

  get checksumBytes(): number {
    return this.#enctype.macBytes
  }

  encrypt(usage: number, plaintext: Buffer, random: Random): Buffer {
    const { encryption, integrity } = this.#pair(usage)
    const confounded = Buffer.concat([random.bytes(BLOCK), plaintext])
    const ciphertext = encryptCts(encryption, confounded)
    return Buffer.concat([ciphertext, this.#mac(integrity, this.#authenticated(confounded, ciphertext))])
  }

  /** Returns the plaintext; null if the ciphertext was not made with this key for this usage. */
  decrypt(usage: number, sealed: Buffer): Buffer | null {
    const { macBytes } = this.#enctype
    if (sealed.length < BLOCK + macBytes) return null
    const { encryption, integrity } = this.#pair(usage)
    const ciphertext = sealed.subarray(0, sealed.length - macBytes)
    const confounded = decryptCts(encryption, ciphertext)
    const mac = this.#mac(integrity, this.#authenticated(confounded, ciphertext))
    return timingSafeEqual(mac, sealed.subarray(-macBytes)) ? confounded.subarray(BLOCK) : null
  }

  checksum(usage: number, data: Buffer): Buffer {
    return this.#mac(this.#derive(usage, 'checksum'), data)
  }

  /** RFC 3961 authenticates the plaintext, RFC 8009 the initial vector and the ciphertext. */
  #authenticated(confounded: Buffer, ciphertext: Buffer): Buffer {
    return this.#isRfc8009 ? Buffer.concat([ZERO_IV, ciphertext]) : confounded
  }

  #mac(key: Buffer, data: Buffer): Buffer {
    const { hash, macBytes } = this.#enctype
    return createHmac(hash, key).update(data).digest().subarray(0, macBytes)
  }

  #pair(usage: number): Pair {
    const known = this.#pairs.get(usage)
    if (known !== undefined) return known
    const pair = {
      encryption: this.#derive(usage, 'encryption'),
      integrity: this.#derive(usage, 'integrity'),
    }
    this.#pairs.set(usage, pair)
    return pair
  }

  get #isRfc8009(): boolean {
    return this.#enctype.hash !== 'sha1'
  }

  /**
   * Returns a key that is as long as this one; for the integrity and the checksums of RFC 8009, as long as their code
   * (section 3 there).
   */
  #derive(usage: number, purpose: keyof typeof PURPOSE): Buffer {
    const { hash, keyBytes, macBytes } = this.#enctype
    const constant = Buffer.alloc(5)
    constant.writeUInt32BE(usage)
    constant[4] = PURPOSE[purpose]
    if (!this.#isRfc8009) return deriveRfc3961(this.#bytes, constant)
    return deriveRfc8009(hash, this.#bytes, constant, purpose === 'encryption' ? keyBytes : macBytes)
  }
}
