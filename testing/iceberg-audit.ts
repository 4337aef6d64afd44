// Inspects a table of the cold tier as an outsider: it reads JSON and Avro with the packages' own readers, by the names
// of the Iceberg specification, and shares no code with src/tier/iceberg. For every snapshot the counts, sums, sequence
// numbers, paths and sizes must be right; every object must be reached by a snapshot or be young.

import { PassThrough } from 'node:stream'
import avsc from 'avsc'
import type { Objects } from '../src/tier/objects/objects.ts'

// biome-ignore lint/suspicious/noExplicitAny: the records are checked by name, and a wrong type is a finding
type Named = Record<string, any>

export interface AuditOptions {
  /** Objects that no snapshot reaches must be younger than this, by the stamps of the store. */
  readonly nowMs: number
  readonly graceMs: number
}

export interface Audit {
  /** One sentence for each fault. */
  readonly findings: readonly string[]
  readonly versions: number
  readonly snapshots: number
  /** Of the current snapshot. */
  readonly files: number
  readonly rows: number
  readonly unreached: readonly string[]
}

const LONG = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(value)
    return bytes
  },
  fromJSON: (value: bigint) => value,
  toJSON: (value: bigint) => value,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
})

/** Every integer of the JSON as a bigint, so that ids compare exactly. */
function parseExactly(text: string): Named {
  const parse = JSON.parse as (
    text: string,
    reviver: (k: string, v: unknown, c: { source?: string }) => unknown,
  ) => Named
  return parse(text, (_key, value, { source }) =>
    typeof value === 'number' && /^-?\d+$/.test(source ?? '') ? BigInt(source!) : value,
  )
}

async function readRecords(bytes: Uint8Array): Promise<Named[]> {
  const decoder = new avsc.streams.BlockDecoder({
    parseHook: (schema: avsc.Schema) => avsc.Type.forSchema(schema, { registry: { long: LONG }, wrapUnions: 'never' }),
  } as ConstructorParameters<typeof avsc.streams.BlockDecoder>[0])
  const input = new PassThrough()
  input.end(Buffer.from(bytes))
  const records: Named[] = []
  for await (const record of input.pipe(decoder)) records.push(record)
  return records
}

/** Inspects the table at the location. Rejects only if the store does. */
export async function auditTable(objects: Objects, location: string, { nowMs, graceMs }: AuditOptions): Promise<Audit> {
  const findings: string[] = []
  const objectsByKey = new Map<string, { readonly size: number; readonly changedAtMs: number }>()
  for await (const { key, size, changedAtMs } of objects.list(`${location}/`))
    objectsByKey.set(key, { size, changedAtMs })
  const reached = new Set<string>()
  const manifestCache = new Map<string, Named[]>()

  const versions = [...objectsByKey.keys()]
    .flatMap(key => /\/metadata\/v(\d+)\.metadata\.json$/.exec(key)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
  const newest = versions.at(-1)
  if (newest === undefined)
    return { findings: ['no version of the metadata'], versions: 0, snapshots: 0, files: 0, rows: 0, unreached: [] }
  if (newest - versions[0]! + 1 !== versions.length) findings.push(`the versions ${versions.join(' ')} have gaps`)

  const metadata = await checkVersions(versions)
  const snapshots: Named[] = metadata.snapshots ?? []
  let current = { files: 0, rows: 0 }
  let sequence = 0n
  for (const snapshot of snapshots) {
    const id = snapshot['snapshot-id']
    if (snapshot['sequence-number'] <= sequence) findings.push(`snapshot ${id}: its sequence number does not grow`)
    sequence = snapshot['sequence-number']
    if (sequence > metadata['last-sequence-number']) findings.push(`snapshot ${id}: beyond last-sequence-number`)
    const found = await checkSnapshot(snapshot)
    if (id === metadata['current-snapshot-id']) current = found
  }
  const ids = new Set(snapshots.map(snapshot => snapshot['snapshot-id']))
  if (ids.size < snapshots.length) findings.push('two snapshots have one id')
  const currentId = metadata['current-snapshot-id'] ?? -1n
  if (currentId !== -1n && !ids.has(currentId)) findings.push(`the current snapshot ${currentId} is missing`)
  for (const [name, ref] of Object.entries<Named>(metadata.refs ?? {}))
    if (!ids.has(ref['snapshot-id'])) findings.push(`ref ${name}: snapshot ${ref['snapshot-id']} is missing`)

  const unreached = [...objectsByKey.keys()].filter(
    key => !reached.has(key) && !/\/metadata\/(v\d+\.metadata\.json|version-hint\.text)$/.test(key),
  )
  for (const key of unreached)
    if (nowMs - objectsByKey.get(key)!.changedAtMs > graceMs)
      findings.push(`${key}: no snapshot reaches it, and it is old`)
  return { findings, versions: versions.length, snapshots: snapshots.length, ...current, unreached }

  /** Checks what no two versions may differ in, and returns the newest one. */
  async function checkVersions(all: readonly number[]): Promise<Named> {
    let last: Named | null = null
    for (const version of all) {
      const bytes = await objects.read(`${location}/metadata/v${version}.metadata.json`)
      const each = parseExactly(Buffer.from(bytes!).toString())
      if (last !== null) {
        if (each['table-uuid'] !== last['table-uuid']) findings.push(`v${version}: another table-uuid`)
        if (each['last-sequence-number'] < last['last-sequence-number'])
          findings.push(`v${version}: last-sequence-number goes back`)
        if (each['last-updated-ms'] < last['last-updated-ms']) findings.push(`v${version}: last-updated-ms goes back`)
        // No change takes the newest snapshot away, so a commit that is gone was overwritten.
        const before = last['current-snapshot-id'] ?? -1n
        if (before !== -1n && !each.snapshots.some((one: Named) => one['snapshot-id'] === before))
          findings.push(`v${version}: snapshot ${before}, the newest one of the version before, has vanished`)
      }
      last = each
    }
    return last!
  }

  async function open(path: string, size: bigint | null, where: string): Promise<Named[] | null> {
    if (!path.startsWith(`${objects.uri}/`)) {
      findings.push(`${where}: ${path} is not in the place`)
      return null
    }
    const key = path.slice(objects.uri.length + 1)
    reached.add(key)
    const facts = objectsByKey.get(key)
    if (facts === undefined) findings.push(`${where}: ${key} is missing`)
    else if (size !== null && BigInt(facts.size) !== size)
      findings.push(`${where}: ${key} has ${facts.size} bytes and not ${size}`)
    if (facts === undefined || !key.endsWith('.avro')) return null
    const known = manifestCache.get(key)
    if (known !== undefined) return known
    const records = await readRecords((await objects.read(key))!)
    manifestCache.set(key, records)
    return records
  }

  async function checkSnapshot(snapshot: Named): Promise<{ files: number; rows: number }> {
    const where = `snapshot ${snapshot['snapshot-id']}`
    const list = (await open(snapshot['manifest-list'], null, where)) ?? []
    const live: Named[] = []
    for (const manifest of list) live.push(...(await checkManifest(manifest, snapshot, where)))
    const paths = new Set(live.map(file => file.file_path))
    if (paths.size < live.length) findings.push(`${where}: a file is in it twice`)
    for (const file of live) await open(file.file_path, file.file_size_in_bytes, where)
    checkOffsets(live, where)
    const rows = live.reduce((sum, file) => sum + file.record_count, 0n)
    const bytes = live.reduce((sum, file) => sum + file.file_size_in_bytes, 0n)
    const totals = { 'total-records': rows, 'total-data-files': BigInt(live.length), 'total-files-size': bytes }
    for (const [name, value] of Object.entries(totals)) {
      const stated = snapshot.summary?.[name]
      if (stated !== undefined && BigInt(stated) !== value)
        findings.push(`${where}: ${name} is ${stated}, its manifests have ${value}`)
    }
    return { files: live.length, rows: Number(rows) }
  }

  async function checkManifest(manifest: Named, snapshot: Named, where: string): Promise<Named[]> {
    const path = manifest.manifest_path
    const entries = (await open(path, manifest.manifest_length, where)) ?? []
    const states = ['existing', 'added', 'deleted']
    for (const [status, name] of states.entries()) {
      const some = entries.filter(entry => entry.status === status)
      const rows = some.reduce((sum, entry) => sum + entry.data_file.record_count, 0n)
      if (manifest[`${name}_files_count`] !== some.length)
        findings.push(`${where}: ${path}: ${name}_files_count is wrong`)
      if (manifest[`${name}_rows_count`] !== rows) findings.push(`${where}: ${path}: ${name}_rows_count is wrong`)
    }
    const live = entries.filter(entry => entry.status !== 2)
    const sequences = live.map(entry => entry.sequence_number ?? manifest.sequence_number)
    if (manifest.sequence_number > snapshot['sequence-number']) findings.push(`${where}: ${path} is of a later time`)
    if (sequences.some(each => each > manifest.sequence_number || each < manifest.min_sequence_number))
      findings.push(`${where}: ${path}: an entry is outside of its sequence numbers`)
    for (const entry of entries)
      for (const [name, value] of Object.entries<unknown>(entry.data_file.partition))
        if (value === null) findings.push(`${where}: ${path}: the partition value ${name} is null`)
    return live.map(entry => entry.data_file)
  }

  /** Files that this broker wrote have their offsets in their names. No two of a partition may share an offset. */
  function checkOffsets(live: readonly Named[], where: string): void {
    const named = live.flatMap(({ file_path: path }) => {
      const found = /\/partition=(\d+)\/[^/]*\/(\d{20})-(\d{20})-\d+-[^/]*$/.exec(path)
      return found === null ? [] : [{ partition: found[1], first: Number(found[2]), last: Number(found[3]) }]
    })
    for (const [partition, group] of Map.groupBy(named, each => each.partition)) {
      let end = -1
      for (const { first, last } of group.sort((a, b) => a.first - b.first)) {
        if (first <= end) findings.push(`${where}: partition ${partition} has offset ${first} twice`)
        end = Math.max(end, last)
      }
    }
  }
}
