// Audits a store on Redis: it reads the streams directly, not with the store's code, and reports each difference from
// docs/reference/redis-keys.md. The cluster must be idle; the audit changes nothing.

import { type BatchView, viewBatch } from '../src/protocol/records.ts'
import type { RedisServer } from './redis.ts'

/** The content of one stream. */
export interface AuditedStream {
  readonly epoch: number
  readonly start: number
  readonly end: number
  /** Half-open ranges of offsets, ascending; adjacent ranges are joined. */
  readonly covered: readonly (readonly [from: number, to: number])[]
  readonly entries: number
}

export interface RedisAudit {
  /** One sentence for each problem; empty if there is no problem. */
  readonly problems: readonly string[]
  readonly streams: ReadonlyMap<string, AuditedStream>
}

type Ask = RedisServer['ask']

const PAGE = 500
const HEADER_BYTES = 28

/** Audits every stream of these servers: of one server, or of all primaries of a cluster. */
export async function auditRedis(servers: readonly RedisServer[], namespace = 'svc'): Promise<RedisAudit> {
  const problems: string[] = []
  const streams = new Map<string, AuditedStream>()
  const listed = new Set<string>()
  /** Keys, and prefixes of keys, that belong to no stream. */
  const others = ['format', 'documents:{', 'broker:acls', 'broker:credentials:'].map(each => `${namespace}:${each}`)
  const found = new Set<string>()
  for (const server of servers) {
    await server.session(async ask => {
      for (const key of await allKeys(ask)) {
        if (key === `${namespace}:streams`) {
          for (const id of (await ask('SMEMBERS', key)) as Buffer[]) listed.add(String(id))
          continue
        }
        const stream = new RegExp(`^${namespace}:stream:\\{(.+)\\}:(batches|meta|rows|cleaned[01])$`).exec(key)
        if (stream !== null) found.add(stream[1]!)
        else if (!others.some(other => (/[:{]$/.test(other) ? key.startsWith(other) : key === other))) {
          problems.push(`${key} belongs to no stream or document`)
        }
      }
      for (const id of found) {
        if (streams.has(id)) continue
        const prefix = `${namespace}:stream:{${id}}`
        if ((await ask('EXISTS', `${prefix}:meta`).catch(notHere)) !== 1) continue
        streams.set(id, await auditStream(ask, prefix, problem => problems.push(`${id}: ${problem}`)))
      }
    })
  }
  for (const id of found) if (!listed.has(id)) problems.push(`${id} has keys and is not listed`)
  for (const id of listed) if (!streams.has(id)) problems.push(`${id} is listed and has no meta`)
  return { problems, streams }
}

/** Returns 0 if another server of the cluster has the slot; throws every other error. */
function notHere(error: Error): number {
  if (/^MOVED/.test(error.message)) return 0
  throw error
}

async function allKeys(ask: Ask): Promise<string[]> {
  const keys = new Set<string>()
  let cursor = '0'
  do {
    const [next, page] = (await ask('SCAN', cursor, 'COUNT', 1000)) as [Buffer, Buffer[]]
    for (const key of page) keys.add(String(key))
    cursor = String(next)
  } while (cursor !== '0')
  return [...keys]
}

interface Place {
  readonly epoch: number
  readonly sequence: number
}

function placeOf(id: string): Place {
  const [epoch, sequence] = id.split('-').map(Number) as [number, number]
  return { epoch, sequence }
}

function isAbove(a: Place, b: Place): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.sequence > b.sequence)
}

/** The entries of one Redis stream that belong to the log. */
interface Part {
  readonly key: string
  /** The epochs of its ids, each with its first offset. */
  readonly epochs: readonly { readonly epoch: number; readonly from: number }[]
  readonly from: number
  readonly to: number
  readonly length: number
  readonly newest: string
  /** True if rewrites may have left gaps. */
  readonly isRewritten: boolean
}

function epochsOf(text: string): Part['epochs'] {
  return [...text.matchAll(/(\d+):(\d+)/g)].map(([, epoch, from]) => ({ epoch: Number(epoch), from: Number(from) }))
}

async function auditStream(ask: Ask, prefix: string, report: (problem: string) => void): Promise<AuditedStream> {
  const flat = (await ask('HGETALL', `${prefix}:meta`)) as Buffer[]
  const meta = new Map<string, string>()
  for (let at = 0; at < flat.length; at += 2) meta.set(String(flat[at]), String(flat[at + 1]))
  const number = (field: string) => Number(meta.get(field))
  const epochs = epochsOf(meta.get('epochs') ?? '')
  const [start, epoch] = [number('start'), number('epoch')]
  const sealed = (meta.get('sealed') ?? '').split(' ')
  const [end, visible, length] = sealed.map(Number) as [number, number, number]
  if (!(start <= visible && visible <= end)) report(`start ${start}, visible ${visible} and end ${end} do not rise`)
  for (const [at, each] of epochs.entries()) {
    const before = epochs[at - 1]
    if (before !== undefined && !(each.epoch > before.epoch && each.from >= before.from)) {
      report(`epoch ${each.epoch} from ${each.from} follows ${before.epoch} from ${before.from}`)
    }
  }
  if ((epochs.at(-1)?.epoch ?? 0) !== epoch) report(`its epoch is ${epoch} and the last of its epochs another`)
  const { parts, removed } = await rewrittenParts(ask, prefix, meta.get('cleaned'), start, report)
  const appended = { epochs, from: parts.at(-1)?.to ?? start, to: end, length, newest: sealed[3] ?? '0-1' }
  parts.push({ key: `${prefix}:batches`, isRewritten: false, ...appended })
  /** Offsets at which an epoch began; offsets before them may be missing. */
  const begins = new Set(epochs.map(each => each.from))
  const covered: [number, number][] = []
  let entries = 0
  let bytes = 0
  for (const part of parts) {
    const audited = await auditPart(ask, part, begins, covered, report)
    entries += audited.entries
    bytes += audited.bytes
  }
  const reached = covered.at(-1)?.[1] ?? start
  if (reached > end) report(`its entries reach ${reached}, its end is ${end}`)
  else if (reached < end && !begins.has(end))
    report(`its entries end at ${reached} and it at ${end}, where no epoch began`)
  const [sizesEnd = 0, sizesStart = 0] = (meta.get('sizes') || '0 0').split(' ').map(Number)
  const counted = sizesEnd - sizesStart - removed
  if (bytes !== counted) report(`its batches have ${bytes} bytes and should have ${counted}`)
  return { epoch, start, end, covered, entries }
}

/** Returns the parts that rewrites have written, and the bytes that they have removed. */
async function rewrittenParts(
  ask: Ask,
  prefix: string,
  text: string | undefined,
  start: number,
  report: (problem: string) => void,
): Promise<{ readonly parts: Part[]; readonly removed: number }> {
  const keys = ['cleaned0', 'cleaned1'].map(name => `${prefix}:${name}`)
  const lengths = []
  for (const key of keys) lengths.push(Number(await ask('EXISTS', key)) === 1 ? Number(await ask('XLEN', key)) : null)
  if (text === undefined) {
    for (const [at, key] of keys.entries())
      if (lengths[at] !== null) report(`${key} exists, and the partition was never rewritten`)
    return { parts: [], removed: 0 }
  }
  for (const [at, key] of keys.entries()) if (lengths[at] === null) report(`${key} is missing`)
  const words = text.split(' ')
  const generation = Number(words[0])
  const [to, left, right, length, until, untilLeft, untilRight, formerLength] = [2, 3, 4, 5, 8, 9, 10, 11].map(at =>
    Number(words[at]),
  ) as [number, number, number, number, number, number, number, number]
  if (words[1] !== '1') report(`the entries below ${to} that were rewritten are not deleted`)
  const [current, former] = generation % 2 === 0 ? [0, 1] : [1, 0]
  const parts: Part[] = []
  const add = (at: number, from: number, end: number, count: number, newest: string, leads: string) =>
    parts.push({ key: keys[at]!, epochs: epochsOf(leads), from, to: end, length: count, newest, isRewritten: true })
  add(current, start, to, length, words[6]!, words[7]!)
  if (to < until) add(former, to, until, formerLength, words[12]!, words[13]!)
  else if ((lengths[former] ?? 0) > 0) report(`${keys[former]} has ${lengths[former]} entries that no pass needs`)
  return { parts, removed: right - left + untilRight - untilLeft }
}

/** Audits the entries of one Redis stream. Adds what they cover to `covered`. */
async function auditPart(
  ask: Ask,
  { key, epochs, from: begin, to, length, newest, isRewritten }: Part,
  begins: ReadonlySet<number>,
  covered: [number, number][],
  report: (problem: string) => void,
): Promise<{ readonly entries: number; readonly bytes: number }> {
  const what = isRewritten ? `${key.slice(key.lastIndexOf(':') + 1)}: ` : ''
  const last = placeOf(newest)
  const sequences = new Map<string, number>()
  let entries = 0
  let bytes = 0
  /** The offset that the next entry should have. */
  let expected = begin
  let before: Place = { epoch: 0, sequence: 0 }
  let from = '-'
  for (;;) {
    const page = (await ask('XRANGE', key, from, '+', 'COUNT', PAGE)) as [Buffer, Buffer[]][]
    for (const [idBytes, fields] of page) {
      const id = String(idBytes)
      const place = placeOf(id)
      const base = place.sequence - 1
      entries++
      bytes += fields[3]?.length ?? 0
      if (!isAbove(place, before)) report(`${what}entry ${id} is not above ${before.epoch}-${before.sequence}`)
      before = place
      if (isAbove(place, last)) report(`${what}entry ${id} lies above the newest sealed one, ${newest}`)
      const owner = epochs.findLast(each => each.from <= base)
      if (!isRewritten && owner !== undefined && owner.epoch !== place.epoch) {
        report(`entry ${id} lies where epoch ${owner.epoch} began at ${owner.from}`)
      }
      const next = auditEntry(
        base,
        fields,
        problem => report(`${what}entry ${id}: ${problem}`),
        batch => {
          // A pass may remove the batches between two of a producer.
          if (batch.producerId < 0 || isRewritten) return
          const producer = `${batch.producerId} of epoch ${batch.producerEpoch}`
          const sequence = sequences.get(producer)
          if (sequence !== undefined && batch.baseSequence !== sequence) {
            report(`entry ${id}: producer ${producer} continues at ${batch.baseSequence} and not at ${sequence}`)
          }
          sequences.set(producer, (batch.baseSequence + batch.lastOffsetDelta + 1) % 2 ** 31)
        },
      )
      if (isRewritten && (next <= begin || next > to))
        report(`${what}entry ${id} takes offsets up to ${next}, outside of ${begin} to ${to}`)
      const mayLack = isRewritten || begins.has(base)
      const run = covered.at(-1)
      if (run !== undefined && base < run[1]) {
        report(`${what}entry ${id} begins at ${base}, where offsets up to ${run[1]} are taken`)
        run[1] = Math.max(run[1], next)
      } else {
        if (base > expected && !mayLack)
          report(
            entries === 1
              ? `it starts at ${begin} and its first entry at ${base}`
              : `nothing stands from ${expected} to ${base}, and no epoch began there`,
          )
        if (run !== undefined && base === run[1]) run[1] = next
        else covered.push([base, next])
      }
      expected = Math.max(expected, next)
    }
    if (page.length < PAGE) break
    from = `(${String(page.at(-1)![0])}`
  }
  if (entries !== length) report(`${what}it has ${entries} entries and should have ${length}`)
  if (entries > 0 && (before.epoch !== last.epoch || before.sequence !== last.sequence)) {
    report(`${what}its newest entry is ${before.epoch}-${before.sequence} and should be ${newest}`)
  }
  return { entries, bytes }
}

/** Returns the offset after the entry. */
function auditEntry(
  base: number,
  fields: readonly Buffer[],
  report: (problem: string) => void,
  look: (batch: BatchView) => void,
): number {
  const [headerName, header, batchName, bytes] = fields
  if (
    fields.length !== 4 ||
    String(headerName) !== 'h' ||
    String(batchName) !== 'b' ||
    header!.length !== HEADER_BYTES
  ) {
    report('it is not in the form of this version')
    return base + 1
  }
  const next = base + header!.readUInt32BE(8)
  // A batch that is stored compressed has no header of its own to compare.
  if (header![1] !== 0) return next
  const batch = viewBatch(bytes!)
  if (batch.batchLength !== bytes!.length) report(`it has ${bytes!.length} bytes, its batch ${batch.batchLength}`)
  else if (!batch.isIntact) report('the checksum of its batch is wrong')
  if (batch.baseOffset !== base) report(`its batch begins at ${batch.baseOffset}`)
  if (batch.lastOffsetDelta !== next - base - 1)
    report(`its batch takes ${batch.lastOffsetDelta + 1} offsets, it ${next - base}`)
  if (batch.recordCount !== header!.readUInt32BE(4)) report(`its batch has ${batch.recordCount} records`)
  look(batch)
  return next
}
