// Readers of files of the archive against files that are damaged at random: footers, page indexes, pages, metadata,
// manifest lists, manifests. A case damages one kind of file and reads it. It resolves with true if the file was read,
// with false if a reader refused it with an error of its kind, and rejects with every other error.

import { inflateRawSync } from 'node:zlib'
import type { Random } from '../src/base/random.ts'
import type { DecoderThreads } from '../src/tier/columns/decoder-thread.ts'
import { openDataFile } from '../src/tier/columns/open-file.ts'
import { DamagedFile } from '../src/tier/columns/page-cursors.ts'
import { fetchGroup, partsOf } from '../src/tier/columns/read.ts'
import { restoreBatches } from '../src/tier/columns/restore.ts'
import { findByTime, findLargestTime } from '../src/tier/columns/time-search.ts'
import { BadAvro } from '../src/tier/iceberg/avro.ts'
import { AvroCursor, decoderOf } from '../src/tier/iceberg/avro-decoder.ts'
import { parseJson, writeJson } from '../src/tier/iceberg/lossless-json.ts'
import { readManifestList } from '../src/tier/iceberg/manifest-lists.ts'
import { readManifest } from '../src/tier/iceberg/manifests.ts'
import { BadMetadata, currentSnapshot, parseMetadata } from '../src/tier/iceberg/metadata.ts'
import { readArchived } from '../src/tier/iceberg/ranges.ts'
import { checkRange } from '../src/tier/objects/byte-range.ts'
import { craftBatch, encodeFile, manyBatches } from './data-files.ts'
import { rewriteFile, withoutChecksums } from './foreign-file.ts'
import { archiveSegments, LOCATION, newTable, testDeps } from './iceberg-table.ts'
import { MemoryObjects } from './memory-objects.ts'
import { mutate } from './mutation.ts'

export interface DamageCase {
  readonly name: string
  /** A run takes this many times as long as others. */
  readonly cost?: number
  run(random: Random): Promise<boolean>
}

/** Resolves with false if the work fails with one of these classes. */
async function refusing(kinds: readonly (new (...args: never[]) => Error)[], work: () => unknown): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (kinds.some(kind => error instanceof kind)) return false
    throw error
  }
}

function mutateWithin(bytes: Buffer, from: number, end: number, random: Random): Buffer {
  return Buffer.concat([bytes.subarray(0, from), mutate(bytes.subarray(from, end), random), bytes.subarray(end)])
}

/** Reads a file as the archive does: its groups, parts, and records by time. */
async function readAll(bytes: Buffer, decoders: DecoderThreads): Promise<void> {
  const read = async (start: number, end: number) => {
    checkRange({ start, end })
    return Uint8Array.from(bytes.subarray(start, end))
  }
  const file = await openDataFile(read, bytes.length, decoders.bounds)
  const troubles: unknown[] = []
  const attempt = async (work: () => Promise<unknown>) => {
    await work().catch((error: unknown) => troubles.push(error))
  }
  for (const group of file.groups) {
    await attempt(async () => {
      const [part] = await partsOf(file, group)
      await decoders.restore(await part!.fetch())
    })
    await attempt(async () => decoders.restore(await fetchGroup(file, group, { from: group.firstOffset, maxBytes: 1 })))
  }
  await attempt(() => findByTime(file, 1_700_000_000_003, 0, decoders.search))
  await attempt(() => findByTime(file, Number.MAX_SAFE_INTEGER, 0, decoders.search))
  await attempt(() => findLargestTime(file, 0, decoders.search))
  const unexpected = troubles.find(error => !(error instanceof DamagedFile))
  if (troubles.length > 0) throw unexpected ?? troubles[0]
}

const OF_FILE = [DamagedFile]

const text = (value: string) => Buffer.from(value)
const BATCHES = [
  craftBatch({
    records: [
      {
        key: text('a'),
        headers: [
          [text('h'), text('v')],
          [text('n'), null],
        ],
      },
      { value: text('b') },
      {},
    ],
    producerId: 3n,
    producerEpoch: 0,
    baseSequence: 0,
  }),
  craftBatch({ baseOffset: 3, records: [{ value: text('packed') }, {}], codec: 'zstd', leaderEpoch: 1 }),
  craftBatch({
    baseOffset: 5,
    records: [{}, { timestampDelta: 2n }],
    isAppendTime: true,
    maxTimestamp: 1_700_000_000_009n,
  }),
]

/** Returns a container file with the codec `null`, so that damage gets behind the compression. */
function unpackedAvro(bytes: Buffer): Buffer {
  const file = new AvroCursor(bytes)
  file.take(4)
  decoderOf({ type: 'map', values: 'bytes' })(file)
  const codec = Buffer.from('\x14avro.codec\x0edeflate', 'latin1')
  const at = bytes.indexOf(codec)
  const header = [bytes.subarray(0, at), Buffer.from('\x14avro.codec\x08null', 'latin1')]
  const parts = [...header, bytes.subarray(at + codec.length, file.at), file.take(16)]
  while (file.at < bytes.length) {
    const from = file.at
    file.count()
    parts.push(bytes.subarray(from, file.at))
    const block = inflateRawSync(file.take(file.count()))
    parts.push(zigzag(block.length), block, file.take(16))
  }
  return Buffer.concat(parts)
}

function zigzag(value: number): Buffer {
  const bytes: number[] = []
  let rest = value * 2
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

export async function damageCases(decoders: DecoderThreads): Promise<readonly DamageCase[]> {
  const ours = encodeFile(BATCHES).bytes
  const footerAt = (bytes: Buffer) => bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8)
  const foreign = await rewriteFile(ours)
  // Larger than a group that is read whole, so that readers need the page index.
  const large = encodeFile(manyBatches(400)).bytes
  const opened = await openDataFile(async (start, end) => Uint8Array.from(ours.subarray(start, end)), ours.length)
  const fetched = await fetchGroup(opened, opened.groups[0]!)
  if (fetched.kind !== 'columns') throw new Error('the file is one of ours')
  const bare = fetched.columns.map(withoutChecksums)
  const indexFrom = largeIndexStart(await pageIndexOf(large))

  const deps = testDeps()
  const objects = new MemoryObjects(deps.clock)
  await archiveSegments(await newTable(objects, deps), [{ partition: 0, base: 0, next: 9 }], deps)
  const held = (pattern: RegExp) => {
    const key = [...objects.held.keys()].filter(each => pattern.test(each)).at(-1)!
    return objects.held.get(key)!.bytes
  }
  const metadata = held(/v2\.metadata\.json$/)
  const list = unpackedAvro(held(/snap-.*\.avro$/))
  const manifest = unpackedAvro(held(new RegExp(`^${LOCATION}/metadata/(?!snap-).*\\.avro$`)))

  return [
    {
      name: 'the footer of a file',
      run: random =>
        refusing(OF_FILE, () => readAll(mutateWithin(ours, footerAt(ours), ours.length - 8, random), decoders)),
    },
    {
      name: 'a file at any place',
      run: random => refusing(OF_FILE, () => readAll(mutate(ours, random), decoders)),
    },
    {
      name: 'pages without checksums',
      run: random => {
        const which = random.below(bare.length)
        const columns = bare.map((column, i) =>
          i === which ? { ...column, bytes: Uint8Array.from(mutate(column.bytes, random)) } : column,
        )
        return refusing(OF_FILE, () => restoreBatches({ ...fetched, columns }))
      },
    },
    {
      name: 'a file of another writer',
      run: random => refusing(OF_FILE, () => readAll(mutate(foreign, random), decoders)),
    },
    {
      name: 'the page index of a large file',
      cost: 20,
      run: random =>
        refusing(OF_FILE, () => readAll(mutateWithin(large, indexFrom, footerAt(large), random), decoders)),
    },
    {
      name: 'metadata',
      run: random =>
        refusing([BadMetadata], () => {
          const found = parseMetadata(mutate(metadata, random), 'v2.metadata.json')
          currentSnapshot(found)
          readArchived(found.properties)
        }),
    },
    {
      name: 'metadata with members of other kinds',
      run: random =>
        refusing([BadMetadata], () => {
          const changed = writeJson(withOtherValue(parseJson(metadata.toString()), random))
          const found = parseMetadata(Buffer.from(changed), 'v2.metadata.json')
          currentSnapshot(found)
          readArchived(found.properties)
        }),
    },
    {
      name: 'a manifest list',
      run: random => refusing([BadAvro], () => readManifestList(mutate(list, random), 'list')),
    },
    {
      name: 'a manifest',
      run: random => refusing([BadAvro], () => readManifest(mutate(manifest, random), 'manifest')),
    },
  ]
}

const OTHER_VALUES: readonly unknown[] = [
  null,
  0,
  -1,
  1.5,
  2 ** 60,
  '',
  'x',
  '{"0":[[0,1e99]]}',
  true,
  [],
  [null],
  {},
  { a: null },
]

/** Returns JSON with one value somewhere replaced by one of another kind. */
function withOtherValue(json: unknown, random: Random): unknown {
  if (typeof json !== 'object' || json === null || random.below(6) === 0)
    return OTHER_VALUES[random.below(OTHER_VALUES.length)]
  const names = Object.keys(json)
  const chosen = names[random.below(Math.max(1, names.length))] ?? 'x'
  const copy: Record<string, unknown> | unknown[] = Array.isArray(json) ? [...json] : { ...json }
  const within = copy as Record<string, unknown>
  within[chosen] = withOtherValue(within[chosen], random)
  return copy
}

async function pageIndexOf(bytes: Buffer): Promise<readonly number[]> {
  const { metadata } = await openDataFile(
    async (start, end) => Uint8Array.from(bytes.subarray(start, end)),
    bytes.length,
  )
  return metadata.row_groups.flatMap(({ columns }) =>
    columns.flatMap(({ column_index_offset: one, offset_index_offset: other }) =>
      [one, other].flatMap(each => (each === undefined ? [] : [Number(each)])),
    ),
  )
}

const largeIndexStart = (starts: readonly number[]) => starts.reduce((a, b) => Math.min(a, b))
