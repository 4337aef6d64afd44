// The conformance suite that every place for objects must pass. It has one named test for each promise of objects.ts,
// and uses only the port. It does not test faults: each kind of place has its own tests for them.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { seededRandom } from '../../base/random.ts'
import { ObjectStoreError, type Objects } from './objects.ts'
import { probeCreateOnly } from './probe.ts'

const bytesOf = (text: string): Uint8Array => Buffer.from(text)
const textOf = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString())
const MiB = 1 << 20

/** Returns bytes that differ everywhere. */
function noise(length: number): Uint8Array {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(Math.imul(at + 1, 2654435761) >>> 0, at)
  return bytes
}

/** Yields the bytes in pieces, and frees each one when it is asked for the next. */
async function* piecesOf(bytes: Uint8Array, ...lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length]!
    const piece = Uint8Array.from(bytes.subarray(at, at + length))
    yield piece
    piece.buffer.transfer(0)
    at += length
  }
}

const keysBelow = async (objects: Objects, prefix: string) =>
  (await Array.fromAsync(objects.list(prefix))).map(({ key }) => key)

/** Registers the suite. `open` opens an empty place and cleans up through the test context. */
export function objectsConformance(name: string, open: (t: TestContext) => Promise<Objects>): void {
  const check = (sentence: string, body: (objects: Objects, t: TestContext) => Promise<void>): void => {
    test(`${name}: ${sentence}`, async t => body(await open(t), t))
  }

  check('an object that does not exist reads as null, whole and in ranges', async objects => {
    assert.equal(await objects.read('a/b'), null)
    assert.equal(await objects.read('a/b', { start: 0, end: 10 }), null)
    assert.equal(await objects.read('a/b', { start: 3, end: 3 }), null)
    assert.equal(await objects.stat('a/b'), null)
  })

  check('a range is cut at the end of the object', async objects => {
    await objects.write('a/b', bytesOf('0123456789'))
    const read = async (start: number, end: number) => textOf(await objects.read('a/b', { start, end }))
    assert.equal(textOf(await objects.read('a/b')), '0123456789')
    assert.equal(await read(0, 10), '0123456789')
    assert.equal(await read(3, 5), '34')
    assert.equal(await read(8, 100), '89')
    assert.equal(await read(9, 10), '9')
    assert.equal(await read(10, 20), '')
    assert.equal(await read(30, 40), '')
    assert.equal(await read(4, 4), '')
  })

  check('a range must have integers in order', async objects => {
    for (const range of [
      { start: -1, end: 2 },
      { start: 3, end: 2 },
      { start: 0.5, end: 2 },
    ])
      await assert.rejects(objects.read('a', range), /a range needs integers/)
  })

  check('the bytes of a read can be transferred to a thread', async objects => {
    await objects.write('a', bytesOf('0123456789'))
    for (const range of [undefined, { start: 2, end: 4 }]) {
      const bytes = await objects.read('a', range)
      assert.equal(bytes!.buffer.byteLength, bytes!.length)
      structuredClone(bytes, { transfer: [bytes!.buffer] })
      assert.equal(bytes!.length, 0)
    }
  })

  check('an empty object is an object', async objects => {
    assert.deepEqual(await objects.write('none', new Uint8Array()), { size: 0 })
    assert.deepEqual(await objects.write('no-parts', piecesOf(new Uint8Array(), 1)), { size: 0 })
    for (const key of ['none', 'no-parts']) {
      assert.equal(textOf(await objects.read(key)), '')
      assert.equal(textOf(await objects.read(key, { start: 0, end: 5 })), '')
      assert.equal((await objects.stat(key))?.size, 0)
    }
  })

  check('stat tells the size and the time of the last change', async (objects, t) => {
    await objects.write('a/b', bytesOf('12345'))
    const { size, changedAtMs } = (await objects.stat('a/b'))!
    assert.equal(size, 5)
    // A wrong unit would be off by a factor; the clock of a foreign store may be off by a little.
    const yearOf = (timeMs: number) => new Date(timeMs).getUTCFullYear()
    t.diagnostic(`changed at ${changedAtMs}`)
    assert.ok(yearOf(changedAtMs) > 2024 && yearOf(changedAtMs) < 2200)
    assert.ok(Number.isInteger(changedAtMs))
    assert.deepEqual(await Array.fromAsync(objects.list('a/')), [{ key: 'a/b', size, changedAtMs }])
  })

  for (const [size, lengths] of [
    [1_000, [7, 100, 1]],
    [8 * MiB - 1, [MiB]],
    [8 * MiB, [8 * MiB]],
    [8 * MiB + 1, [3 * MiB + 5]],
    [19 * MiB + 3, [20 * MiB]],
    [25 * MiB, [100_003, 9 * MiB]],
  ] as const)
    check(`${size} bytes in parts of ${lengths.join(' and ')} are one object`, async objects => {
      const bytes = noise(size)
      assert.deepEqual(await objects.write('large', piecesOf(bytes, ...lengths)), { size })
      const read = await objects.read('large')
      assert.ok(Buffer.from(bytes).equals(read!))
      const range = { start: Math.floor(size / 3), end: Math.floor(size / 2) }
      assert.ok(Buffer.from(bytes.subarray(range.start, range.end)).equals((await objects.read('large', range))!))
      assert.equal((await objects.stat('large'))?.size, size)
    })

  check('a large object may be given as one array', async objects => {
    const bytes = noise(17 * MiB)
    assert.deepEqual(await objects.write('large', bytes), { size: bytes.length })
    assert.ok(Buffer.from(bytes).equals((await objects.read('large'))!))
  })

  check('no reader sees an object before all its parts are written', async objects => {
    const atTheEnd = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const parts = async function* () {
      yield noise(9 * MiB)
      yield noise(9 * MiB)
      atTheEnd.resolve()
      await goOn.promise
      yield noise(1)
    }
    const written = objects.write('a/b', parts())
    await atTheEnd.promise
    assert.equal(await objects.read('a/b'), null)
    assert.equal(await objects.stat('a/b'), null)
    assert.deepEqual(await keysBelow(objects, ''), [])
    goOn.resolve()
    assert.deepEqual(await written, { size: 18 * MiB + 1 })
    assert.deepEqual(await keysBelow(objects, ''), ['a/b'])
  })

  for (const size of [1, 20 * MiB])
    check(`if the parts throw after ${size} bytes, the caller gets the error and no object exists`, async objects => {
      const failure = new Error('the encoder failed')
      const parts = async function* () {
        yield noise(size)
        throw failure
      }
      await assert.rejects(objects.write('a/b', parts()), error => error === failure)
      assert.equal(await objects.read('a/b'), null)
      assert.deepEqual(await keysBelow(objects, ''), [])
    })

  check('a create of an object that exists leaves it as it is', async objects => {
    assert.equal(await objects.create('m/v1.json', bytesOf('one')), 'created')
    assert.equal(await objects.create('m/v1.json', bytesOf('two')), 'exists')
    assert.equal(textOf(await objects.read('m/v1.json')), 'one')
    await objects.write('m/v2.json', bytesOf('written'))
    assert.equal(await objects.create('m/v2.json', bytesOf('two')), 'exists')
    await objects.delete(['m/v1.json'])
    assert.equal(await objects.create('m/v1.json', bytesOf('three')), 'created')
    assert.equal(textOf(await objects.read('m/v1.json')), 'three')
  })

  check('of many concurrent creates of one object, one succeeds', async objects => {
    for (let round = 0; round < 5; round++) {
      const key = `m/v${round}.json`
      const results = await Promise.all(
        Array.from({ length: 12 }, async (_, racer) => {
          try {
            return [racer, await objects.create(key, bytesOf(`racer ${racer}`))] as const
          } catch (error) {
            // As S3 does if it sees two at once.
            assert.ok(error instanceof ObjectStoreError && error.kind === 'conflict', String(error))
            return [racer, 'conflict'] as const
          }
        }),
      )
      const winners = results.filter(([, result]) => result === 'created')
      assert.equal(winners.length, 1, JSON.stringify(results))
      assert.equal(textOf(await objects.read(key)), `racer ${winners[0]![0]}`)
    }
  })

  check('the probe finds that creates are safe, and leaves nothing', async objects => {
    assert.equal(await probeCreateOnly(objects, seededRandom(1)), true)
    assert.deepEqual(await keysBelow(objects, ''), [])
  })

  check('replace writes an object whether or not it exists', async objects => {
    await objects.replace('m/version-hint.text', bytesOf('1'))
    await objects.replace('m/version-hint.text', bytesOf('12'))
    assert.equal(textOf(await objects.read('m/version-hint.text')), '12')
  })

  check('a reader of an object that is replaced sees whole objects', async objects => {
    const versions = ['a', 'b'].map(letter => letter.repeat(100_000))
    await objects.replace('hint', bytesOf(versions[0]!))
    const replacing = (async () => {
      for (let round = 0; round < 10; round++) await objects.replace('hint', bytesOf(versions[round % 2]!))
    })()
    for (let round = 0; round < 10; round++) assert.ok(versions.includes(textOf(await objects.read('hint'))!))
    await replacing
  })

  check('objects are listed in the order of the bytes of their keys', async objects => {
    // In UTF-16 the last key would come before the one before it. '-' and '.' come before '/', and '0' after it.
    const keys = ['a-', 'a/b-c', 'a/b.c/d', 'a/b/c', 'a0', 'b', 'é', '\u{ff5e}', '\u{1f600}']
    for (const key of keys.toReversed()) await objects.write(key, bytesOf(key))
    assert.deepEqual(await keysBelow(objects, ''), keys)
    assert.deepEqual(await keysBelow(objects, 'a/'), ['a/b-c', 'a/b.c/d', 'a/b/c'])
    assert.deepEqual(await keysBelow(objects, 'a/b.'), ['a/b.c/d'])
    assert.deepEqual(await keysBelow(objects, 'a/b.c/d'), ['a/b.c/d'])
    assert.deepEqual(await keysBelow(objects, 'a/b.c/d/'), [])
    assert.deepEqual(await keysBelow(objects, 'c'), [])
  })

  check('a list may end early', async objects => {
    for (const key of ['a', 'b', 'c']) await objects.write(key, bytesOf(key))
    for await (const { key } of objects.list('')) {
      assert.equal(key, 'a')
      break
    }
  })

  check('a key may have any printable character', async objects => {
    const keys = [
      'data/partition=0/ingested_at_day=2026-11-27/00000000000000000000-00000000000000000099-1234-uuid.parquet',
      'plus+and space/%41%2F?query#hash&amp;<tag>',
      'quotes\'"`/back\\slash:*|~!@$^(),;[]{}',
      'ümläut/日本語/😀.json',
      '.hidden/..two/...',
    ]
    for (const key of keys) assert.equal(await objects.create(key, bytesOf(key)), 'created', key)
    for (const key of keys) {
      assert.equal(textOf(await objects.read(key)), key)
      assert.equal(await objects.create(key, bytesOf('other')), 'exists', key)
      assert.deepEqual(await keysBelow(objects, key), [key])
    }
    assert.deepEqual((await keysBelow(objects, '')).toSorted(), keys.toSorted())
    await objects.delete(keys)
    assert.deepEqual(await keysBelow(objects, ''), [])
  })

  for (const key of [
    '',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    'a/../b',
    '../a',
    'a/./b',
    'a\nb',
    'a\0',
    'a/.ketch-b',
    'x'.repeat(300),
    `${'a/'.repeat(500)}b`,
  ])
    check(
      `the key '${key.slice(0, 20).replace(/\p{Cc}/gu, '·')}' of ${key.length} characters is refused`,
      async objects => {
        const refused = (error: unknown) =>
          error instanceof ObjectStoreError && error.kind === 'refused' && /cannot be the key/.test(error.message)
        await assert.rejects(objects.read(key), refused)
        await assert.rejects(objects.stat(key), refused)
        await assert.rejects(objects.write(key, bytesOf('a')), refused)
        await assert.rejects(objects.create(key, bytesOf('a')), refused)
        await assert.rejects(objects.replace(key, bytesOf('a')), refused)
        await assert.rejects(objects.delete([key]), refused)
        assert.deepEqual(await keysBelow(objects, ''), [])
      },
    )

  check('a folder is no object', async objects => {
    await objects.write('a/b/c', bytesOf('1'))
    for (const key of ['a', 'a/b', 'a/b/c/d']) {
      assert.equal(await objects.read(key), null)
      assert.equal(await objects.stat(key), null)
    }
    await objects.delete(['a', 'a/b', 'a/b/c/d'])
    assert.deepEqual(await keysBelow(objects, ''), ['a/b/c'])
  })

  check('deleted objects are gone, and a missing one is no error', async objects => {
    for (const key of ['a', 'b/c', 'b/d']) await objects.write(key, bytesOf(key))
    const missing = Array.from({ length: 1_500 }, (_, i) => `missing/${i}`)
    await objects.delete([])
    await objects.delete(['b/c', ...missing, 'a'])
    assert.equal(await objects.read('a'), null)
    assert.deepEqual(await keysBelow(objects, ''), ['b/d'])
    await objects.delete(['b/d'])
    await objects.delete(['b/d'])
    await objects.write('b/d', bytesOf('again'))
    assert.equal(textOf(await objects.read('b/d')), 'again')
  })

  check('writes and deletes in one folder do not disturb each other', async objects => {
    await Promise.all(
      Array.from({ length: 8 }, async (_, worker) => {
        for (let round = 0; round < 6; round++) {
          const key = `p/day/${worker}-${round}`
          await objects.write(key, bytesOf(key))
          assert.equal(textOf(await objects.read(key)), key)
          await objects.delete([key])
        }
      }),
    )
    assert.deepEqual(await keysBelow(objects, ''), [])
  })
}
