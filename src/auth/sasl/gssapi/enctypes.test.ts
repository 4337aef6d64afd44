import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Random, seededRandom } from '../../../base/random.ts'
import { decryptCts, encryptCts } from './aes-cts.ts'
import { ENCTYPES, Key } from './enctypes.ts'
import { deriveRfc3961, deriveRfc8009, nFold } from './key-derivation.ts'

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')
/** The confounder of a test vector in the place of a random one. */
const confounder = (hex: string): Random => ({ ...seededRandom(1), bytes: () => bytes(hex) })
const usage = (last: string) => bytes(`00000002${last}`)

test('n-fold gives the values of RFC 3961, appendix A.1', () => {
  const vectors: readonly (readonly [string, number, string])[] = [
    ['012345', 8, 'be072631276b1955'],
    ['password', 7, '78a07b6caf85fa'],
    ['Rough Consensus, and Running Code', 8, 'bb6ed30870b7f0e0'],
    ['password', 21, '59e4a8ca7c0385c3c37b3f6d2000247cb6e6bd5b3e'],
    ['MASSACHVSETTS INSTITVTE OF TECHNOLOGY', 24, 'db3b0d8f0b061e603282b308a50841229ad798fab9540c1b'],
    ['kerberos', 16, '6b65726265726f737b9b5b2b93132b93'],
  ]
  for (const [input, length, expected] of vectors)
    assert.equal(nFold(Buffer.from(input), length).toString('hex'), expected, input)
})

test('AES with ciphertext stealing gives the values of RFC 3962, appendix B', () => {
  const key = Buffer.from('chicken teriyaki')
  const text = Buffer.from("I would like the General Gau's Chicken, please, and wonton soup.")
  const vectors: readonly (readonly [number, string])[] = [
    [17, 'c6353568f2bf8cb4d8a580362da7ff7f97'],
    [31, 'fc00783e0efdb2c1d445d4c8eff7ed2297687268d6ecccc0c07b25e25ecfe5'],
    [32, '39312523a78662d5be7fcbcc98ebf5a897687268d6ecccc0c07b25e25ecfe584'],
    [47, '97687268d6ecccc0c07b25e25ecfe584b3fffd940c16a18c1b5549d2f838029e39312523a78662d5be7fcbcc98ebf5'],
    [48, '97687268d6ecccc0c07b25e25ecfe5849dad8bbb96c4cdc03bc103e1a194bbd839312523a78662d5be7fcbcc98ebf5a8'],
    [
      64,
      '97687268d6ecccc0c07b25e25ecfe58439312523a78662d5be7fcbcc98ebf5a84807efe836ee89a526730dbc2f7bc8409dad8bbb96c4cdc03bc103e1a194bbd8',
    ],
  ]
  for (const [length, expected] of vectors) {
    assert.equal(encryptCts(key, text.subarray(0, length)).toString('hex'), expected)
    assert.deepEqual(decryptCts(key, bytes(expected)), text.subarray(0, length))
  }
})

test('keys of the SHA-1 enctypes derive as in MIT Kerberos', () => {
  const aes128 = bytes('42263c6e89f4fc28b8df68ee09799f15')
  assert.deepEqual(deriveRfc3961(aes128, usage('99')), bytes('34280a382bc92769b2da2f9ef066854b'))
  assert.deepEqual(deriveRfc3961(aes128, usage('aa')), bytes('5b14fc4e250e14ddf9dccf1af6674f53'))
  assert.deepEqual(deriveRfc3961(aes128, usage('55')), bytes('4ed31063621684f09ae8d89991af3e8f'))
  const aes256 = bytes('fe697b52bc0d3ce14432ba036a92e65bbb52280990a2fa27883998d72af30161')
  assert.deepEqual(
    deriveRfc3961(aes256, usage('55')),
    bytes('97151b4c76945063e2eb0529dc067d97d7bba90776d8126d91f34f3101aea8ba'),
  )
})

test('messages of the SHA-1 enctypes decrypt as in MIT Kerberos', () => {
  const vectors: readonly (readonly [number, string, number, string, string])[] = [
    [17, '', 0, '5a5c0f0ba54f3828b2195e66ca24a289', '49ff8e11c173d9583a3254fbe7b1f1df36c538e8416784a1672e6676'],
    [17, '1', 1, '98450e3f3baa13f5c99beb936981b06f', 'f86742f537b35dc2174a4dbaa920faf9042090b065e1ebb1cad9a65394'],
    [
      17,
      '30 bytes bytes bytes bytes byt',
      4,
      'dceeb70b3de76562e689226c76429148',
      'c96081032d5d8eeb7e32b4089f789d0faa481dea74c0f97cbf3146ddfcf8e800156ecb532fc203e30ff600b63b350939fece510f02d7ff1e7bac',
    ],
    [
      18,
      '',
      0,
      '17f275f2954f2ed1f90c377ba7f4d6a369aa0136e0bf0c927ad6133c693759a9',
      'e5094c55ee7b38262e2b044280b069379a95bf95bd8376fb3281b435',
    ],
    [
      18,
      '1',
      1,
      'b9477e1ff0329c0050e20ce6c72d2dff27e8fe541ab0954429a9cb5b4f7b1e2a',
      '406150b97aeb76d43b36b62cc1ecdfbe6f40e95755e0beb5c27825f3a4',
    ],
  ]
  for (const [enctype, plaintext, keyUsage, key, ciphertext] of vectors) {
    const opened = new Key(enctype, bytes(key)).decrypt(keyUsage, bytes(ciphertext))
    assert.equal(opened?.toString(), plaintext)
  }
})

const RFC_8009 = [
  {
    enctype: 19,
    hash: 'sha256',
    key: '3705d96080c17728a0e800eab6e0d23c',
    checksumKey: 'b31a018a48f54776f403e9a396325dc3',
    encryptionKey: '9b197dd1e8c5609d6e67c3e37c62c72e',
    integrityKey: '9fda0e56ab2d85e1569a688696c26a6c',
    checksum: 'd78367186643d67b411cba9139fc1dee',
    messages: [
      [
        '',
        '7E 58 95 EA F2 67 24 35 BA D8 17 F5 45 A3 71 48',
        'EF 85 FB 89 0B B8 47 2F 4D AB 20 39 4D CA 78 1D AD 87 7E DA 39 D5 0C 87 0C 0D 5A 0A 8E 48 C7 18',
      ],
      [
        '00 01 02 03 04 05',
        '7B CA 28 5E 2F D4 13 0F B5 5B 1A 5C 83 BC 5B 24',
        '84 D7 F3 07 54 ED 98 7B AB 0B F3 50 6B EB 09 CF B5 54 02 CE F7 E6 87 7C E9 9E 24 7E 52 D1 6E D4 42 1D FD F8 97 6C',
      ],
      [
        '00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F',
        '56 AB 21 71 3F F6 2C 0A 14 57 20 0F 6F A9 94 8F',
        '35 17 D6 40 F5 0D DC 8A D3 62 87 22 B3 56 9D 2A E0 74 93 FA 82 63 25 40 80 EA 65 C1 00 8E 8F C2 95 FB 48 52 E7 D8 3E 1E 7C 48 C3 7E EB E6 B0 D3',
      ],
      [
        '00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 10 11 12 13 14',
        'A7 A4 E2 9A 47 28 CE 10 66 4F B6 4E 49 AD 3F AC',
        '72 0F 73 B1 8D 98 59 CD 6C CB 43 46 11 5C D3 36 C7 0F 58 ED C0 C4 43 7C 55 73 54 4C 31 C8 13 BC E1 E6 D0 72 C1 86 B3 9A 41 3C 2F 92 CA 9B 83 34 A2 87 FF CB FC',
      ],
    ],
  },
  {
    enctype: 20,
    hash: 'sha384',
    key: '6d404d37faf79f9df0d33568d320669800eb4836472ea8a026d16b7182460c52',
    checksumKey: 'ef5718be86cc84963d8bbb5031e9f5c4ba41f28faf69e73d',
    encryptionKey: '56ab22bee63d82d7bc5227f6773f8ea7a5eb1c825160c38312980c442e5c7e49',
    integrityKey: '69b16514e3cd8e56b82010d5c73012b622c4d00ffc23ed1f',
    checksum: '45ee791567eefca37f4ac1e0222de80d43c3bfa06699672a',
    messages: [
      [
        '',
        'F7 64 E9 FA 15 C2 76 47 8B 2C 7D 0C 4E 5F 58 E4',
        '41 F5 3F A5 BF E7 02 6D 91 FA F9 BE 95 91 95 A0 58 70 72 73 A9 6A 40 F0 A0 19 60 62 1A C6 12 74 8B 9B BF BE 7E B4 CE 3C',
      ],
      [
        '00 01 02 03 04 05',
        'B8 0D 32 51 C1 F6 47 14 94 25 6F FE 71 2D 0B 9A',
        '4E D7 B3 7C 2B CA C8 F7 4F 23 C1 CF 07 E6 2B C7 B7 5F B3 F6 37 B9 F5 59 C7 F6 64 F6 9E AB 7B 60 92 23 75 26 EA 0D 1F 61 CB 20 D6 9D 10 F2',
      ],
      [
        '00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F',
        '53 BF 8A 0D 10 52 65 D4 E2 76 42 86 24 CE 5E 63',
        'BC 47 FF EC 79 98 EB 91 E8 11 5C F8 D1 9D AC 4B BB E2 E1 63 E8 7D D3 7F 49 BE CA 92 02 77 64 F6 8C F5 1F 14 D7 98 C2 27 3F 35 DF 57 4D 1F 93 2E 40 C4 FF 25 5B 36 A2 66',
      ],
      [
        '00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 10 11 12 13 14',
        '76 3E 65 36 7E 86 4F 02 F5 51 53 C7 E3 B5 8A F1',
        '40 01 3E 2D F5 8E 87 51 95 7D 28 78 BC D2 D6 FE 10 1C CF D5 56 CB 1E AE 79 DB 3C 3E E8 64 29 F2 B2 A6 02 AC 86 FE F6 EC B6 47 D6 29 5F AE 07 7A 1F EB 51 75 08 D2 C1 6B 41 92 E0 1F 62',
      ],
    ],
  },
] as const

test('the SHA-2 enctypes give the values of RFC 8009, appendix A', () => {
  for (const { enctype, hash, key, checksumKey, encryptionKey, integrityKey, checksum, messages } of RFC_8009) {
    const base = bytes(key)
    const derive = (last: string, like: string) => deriveRfc8009(hash, base, usage(last), like.length / 2)
    assert.deepEqual(derive('99', checksumKey), bytes(checksumKey))
    assert.deepEqual(derive('aa', encryptionKey), bytes(encryptionKey))
    assert.deepEqual(derive('55', integrityKey), bytes(integrityKey))
    const opened = new Key(enctype, base)
    for (const [plaintext, withConfounder, ciphertext] of messages) {
      assert.deepEqual(opened.encrypt(2, bytes(plaintext), confounder(withConfounder)), bytes(ciphertext))
      assert.deepEqual(opened.decrypt(2, bytes(ciphertext)), bytes(plaintext))
    }
    assert.deepEqual(opened.checksum(2, bytes('000102030405060708090a0b0c0d0e0f1011121314')), bytes(checksum))
  }
})

test('a ciphertext of another key, another usage, or with one changed bit does not decrypt', () => {
  const random = seededRandom(7)
  for (const { number, keyBytes } of ENCTYPES) {
    const raw = random.bytes(keyBytes)
    const key = new Key(number, raw)
    const sealed = key.encrypt(11, Buffer.from('authenticator'), random)
    assert.equal(key.decrypt(11, sealed)?.toString(), 'authenticator')
    assert.equal(key.decrypt(2, sealed), null)
    assert.equal(new Key(number, random.bytes(keyBytes)).decrypt(11, sealed), null)
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed)
      changed[at]! ^= 1
      assert.equal(key.decrypt(11, changed), null)
    }
    for (let length = 0; length < sealed.length; length++)
      assert.equal(key.decrypt(11, sealed.subarray(0, length)), null)
  }
})

test('a key of a weak enctype is refused by name', () => {
  assert.throws(() => new Key(23, Buffer.alloc(16)), /unsupported encryption type: arcfour-hmac/)
  assert.throws(() => new Key(3, Buffer.alloc(8)), /unsupported encryption type: des-cbc-md5/)
  assert.throws(() => new Key(99, Buffer.alloc(16)), /unsupported encryption type: enctype 99/)
  assert.throws(() => new Key(18, Buffer.alloc(16)), /a key of aes256-cts-hmac-sha1-96 has 16 bytes/)
})
