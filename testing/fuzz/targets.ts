// The targets of the fuzzer: each place that first reads bytes from outside, with its rules. A run may return or
// refuse the input. It fails if it throws anything other than a declared refusal, or if two ways to read the same
// bytes give different results.

import assert from 'node:assert/strict'
import { unframe } from '../../src/auth/sasl/gssapi/initial-token.ts'
import { KeytabError, readKeytab } from '../../src/auth/sasl/gssapi/keytab.ts'
import { readApReq, readAuthenticator, readTicket } from '../../src/auth/sasl/gssapi/messages.ts'
import { Refused } from '../../src/auth/sasl/gssapi/refused.ts'
import { unwrap } from '../../src/auth/sasl/gssapi/wrap.ts'
import { readFirstMessage } from '../../src/auth/sasl/oauthbearer-message.ts'
import { crc32c } from '../../src/base/crc32c.ts'
import { seededRandom } from '../../src/base/random.ts'
import { assignedPartitions, subscribedTopics } from '../../src/coordinator/classic/consumer-metadata.ts'
import { decodeHead, encodeHead } from '../../src/coordinator/classic/head-record.ts'
import { decodeOffset, encodeOffset } from '../../src/coordinator/offsets/offset-record.ts'
import { FrameSplitter, requestFrames } from '../../src/kafka/connection/frame.ts'
import { decodeMessage, decodeRequest, encodeMessage, encodeRequest } from '../../src/protocol/codec.ts'
import { headerLookup, readRequestHeader } from '../../src/protocol/header.ts'
import { interpretBytes } from '../../src/protocol/interpret.ts'
import { Malformed } from '../../src/protocol/malformed.ts'
import { betweenBrokers, messages } from '../../src/protocol/messages/all.ts'
import { consumerProtocolSubscription } from '../../src/protocol/messages/consumer-protocol.ts'
import {
  BatchView,
  checkBatches,
  encodeBatch,
  InvalidRecords,
  readRecords,
  splitBatches,
} from '../../src/protocol/records.ts'
import { inRange } from '../../src/protocol/schema.ts'
import { loadSettings } from '../../src/settings/load.ts'
import { SettingsError } from '../../src/settings/settings.ts'
import {
  encodeFileHeader,
  FIRST_ROUND,
  markOf,
  ROUND_HEADER_BYTES,
  RoundWriter,
} from '../../src/store/embedded/entry.ts'
import { recover } from '../../src/store/embedded/recovery.ts'
import { type AnyReply, MalformedReply, ReplyReader } from '../../src/store/redis/client/reply-reader.ts'
import { capturedFrames, goldenFrames, joinFrames } from '../corpus.ts'
import { makeToken, makeWrap, writeKeytab } from '../kerberos-client.ts'

export interface Target {
  readonly name: string
  seeds(): Buffer[]
  /** Throws or rejects if a rule is broken. */
  run(input: Buffer): void | Promise<void>
}

/** Returns the result of `work`, or undefined if it throws a refusal. Throws every other error. */
function refusable<T>(isRefusal: (error: unknown) => boolean, work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

const isMalformed = (error: unknown) => error instanceof Malformed

// ----------------------------------------------------------------------------------------------------------- the wire

const LARGEST_FRAME = 64 * 1024

/** Splits the input into small pieces; its own bytes determine their lengths. */
function piecesOf(input: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < input.length; at += pieces.at(-1)!.length)
    pieces.push(input.subarray(at, at + 1 + (input[at]! % 7)))
  return pieces
}

function split(chunks: readonly Buffer[]) {
  const frames: string[] = []
  let fault: string | null = null
  let held = 0
  const splitter = new FrameSplitter(() => requestFrames(LARGEST_FRAME), {
    frame(bytes) {
      held -= bytes.byteLength
      return frames.push(bytes.toString('hex')) > 0
    },
    fault(found) {
      fault = found.reason
    },
    held(deltaBytes) {
      held += deltaBytes
      assert.ok(held >= 0 && held <= LARGEST_FRAME, `${held} bytes are held`)
    },
  })
  for (const chunk of chunks) splitter.push(chunk)
  const { heldBytes } = splitter
  assert.equal(held, heldBytes)
  splitter.stop()
  assert.equal(held, 0)
  return { frames, fault, heldBytes }
}

const frames: Target = {
  name: 'frames',
  seeds: () => [joinFrames(capturedFrames().slice(0, 6)), Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.alloc(9)],
  run(input) {
    assert.deepEqual(split(piecesOf(input)), split([input]))
  },
}

const served = [...messages, ...betweenBrokers]
const isFlexibleHeader = headerLookup(served)
const apis = new Map(served.map(api => [api.key, api]))

/** Counts the elements and fields of a decoded value. There must not be more of them than bytes. */
function countElements(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, element) => sum + countElements(element), value.length)
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + countElements(inner), 0)
}

function hasLongNumbers(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return false
  return Object.values(value).some(hasLongNumbers)
}

const requests: Target = {
  name: 'requests',
  seeds: () => [...capturedFrames(), ...goldenFrames()],
  run(input) {
    const header = refusable(isMalformed, () => readRequestHeader(input, isFlexibleHeader))
    if (header === undefined) return
    const api = apis.get(header.apiKey)
    const version = header.apiVersion
    if (api === undefined || !inRange(api.versions, version)) return
    const body = input.subarray(header.bodyOffset)
    const value = refusable(isMalformed, () => decodeRequest(api, version, input, header.bodyOffset))
    assert.deepEqual(
      value,
      refusable(isMalformed, () => interpretBytes(api.request, version, body)),
    )
    if (value === undefined) return
    assert.ok(countElements(value) <= input.length, 'more elements than bytes')
    if (hasLongNumbers(value)) return
    const again = Buffer.concat(encodeRequest(api, version, value as never))
    assert.deepEqual(decodeRequest(api, version, again, 0), value)
  },
}

const isInvalid = (error: unknown) => error instanceof InvalidRecords

const batches: Target = {
  name: 'batches',
  seeds: () => {
    const record = (i: number) => ({
      key: `k${i}`,
      value: 'v'.repeat(i),
      timestamp: i,
      headers: [{ key: 'h', value: null }],
    })
    const records = [1, 2, 30].map(record)
    const plain = (['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const).map(compression =>
      encodeBatch(records, { compression }),
    )
    return [...plain, encodeBatch(records, { producerId: 5, producerEpoch: 0, baseSequence: 3, isTransactional: true })]
  },
  async run(input) {
    // Half of the inputs get a correct checksum, so that they reach the checks that come after it.
    const bytes = Buffer.from(input)
    if (bytes.length > 21 && bytes[0]! % 2 === 0) bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
    const split = refusable(isInvalid, () => splitBatches(bytes)) ?? []
    assert.ok(split.reduce((sum, batch) => sum + batch.batchLength, 0) <= bytes.length)
    const checked = checkBatches(bytes)
    const records = await readRecords(bytes, 2 ** 20).catch((error: unknown) => {
      if (isInvalid(error)) return null
      throw error
    })
    if (!(checked instanceof BatchView) || records === null) return
    assert.equal(records.length, checked.recordCount)
    assert.equal(records.at(-1)!.offset, checked.lastOffset)
  },
}

// -------------------------------------------------------------------------------------------------- groups, settings

const isRefusedRecord = (error: unknown) => isMalformed(error) || (error as Error).message.startsWith('a stored ')

const groups: Target = {
  name: 'groups',
  seeds: () => {
    const member = {
      ...{ id: 'member-1', instanceId: null, clientId: 'c', clientHost: '127.0.0.1' },
      ...{ rebalanceTimeoutMs: 1, sessionTimeoutMs: 2, assignment: Buffer.from('a') },
      protocols: [{ name: 'range', metadata: Buffer.from('m') }],
    }
    const names = { protocolType: 'consumer', protocolName: 'range', leader: 'member-1' }
    const group = { state: 'Stable', stateSinceMs: 1, generation: 3, ...names, members: [member] } as const
    const offset = { offset: 5, leaderEpoch: -1, commitTimestampMs: 7, metadata: 'words', expireAtMs: 9 }
    const subscription = (version: number) => {
      const body = Buffer.concat(encodeMessage(consumerProtocolSubscription, version, { topics: ['a', 'b'] }))
      return Buffer.concat([Buffer.of(0, version), body])
    }
    return [...[encodeHead(group), encodeOffset(offset)].map(Buffer.from), ...[0, 1, 2, 3].map(subscription)]
  },
  run(input) {
    const head = refusable(isRefusedRecord, () => decodeHead(input))
    if (head !== undefined && !hasLongNumbers(head)) assert.deepEqual(decodeHead(encodeHead(head)), head)
    const offset = refusable(isRefusedRecord, () => decodeOffset(input))
    if (offset !== undefined && !hasLongNumbers(offset)) assert.deepEqual(decodeOffset(encodeOffset(offset)), offset)
    assignedPartitions(input)
    const topics = subscribedTopics(input)
    const version = input.length < 2 ? -1 : input.readInt16BE(0)
    if (!inRange(consumerProtocolSubscription.versions, version)) return
    const whole = refusable(isMalformed, () => decodeMessage(consumerProtocolSubscription, version, input, 2))
    if (whole !== undefined) assert.deepEqual(topics, new Set(whole.topics))
  },
}

const settings: Target = {
  name: 'settings',
  seeds: () =>
    [
      'svc:\n  broker: { port: 9092, host: 0.0.0.0 }\n  topics:\n    - name: "a*"\n      partitions: 3\n',
      'svc.storage.local.embedded.fsync: interval\nsvc.broker.max-request-bytes: 10MB\n',
      '--svc.broker.port=9093\n--svc.topics[0].name=orders-*\n--svc.topics.0.retention=7d\n--logging.level.svc.kafka=DEBUG\n',
      'SVC_BROKER_IDLE_TIMEOUT=5m\nSVC_TOPICS_0_NAME=x\nSVC_TOPICS_0_AUTO_CREATE=true\nLOGGING_LEVEL_SVC=WARN\n',
    ].map(text => Buffer.from(text)),
  run(input) {
    // Lines that look like options or variables become options or variables; the other lines become the file.
    const lines = input.toString().split('\n')
    const isVariable = (line: string) => /^[A-Z_0-9]+=/.test(line)
    const argv = lines.filter(line => line.startsWith('--') && !/^--config/.test(line))
    const env = Object.fromEntries(
      lines.filter(line => isVariable(line) && !line.startsWith('SVC_CONFIG')).map(line => line.split(/=(.*)/s, 2)),
    )
    const isFileLine = (line: string) => !line.startsWith('--') && !isVariable(line)
    const file = argv.length > 0 ? Buffer.from(lines.filter(isFileLine).join('\n')) : input
    refusable(
      error => error instanceof SettingsError,
      () => loadSettings({ argv, env, cwd: '/', readFile: () => file }),
    )
  },
}

// --------------------------------------------------------------------------------------------------------- the journal

const INCARNATION = Buffer.from('incarnat')

function journal(): Buffer {
  const header = Buffer.alloc(FIRST_ROUND)
  encodeFileHeader({ number: 1, incarnation: INCARNATION }).copy(header)
  const parts: Buffer[] = [header]
  let position = FIRST_ROUND
  for (let sequence = 1; sequence <= 4; sequence++) {
    const bytes = encodeBatch([{ value: `value ${sequence}` }], { baseOffset: sequence, leaderEpoch: 1 })
    const writer = new RoundWriter(INCARNATION, sequence)
    const rows = [
      { key: 'k', value: Buffer.from('v') },
      { key: 'gone', value: null },
    ]
    writer.add({ type: 'create', stream: 7, name: 'stream' })
    writer.add({ type: 'open', stream: 7, epoch: 1, end: sequence })
    const mark = markOf({ baseOffset: sequence, nextOffset: sequence + 1, bytes })
    writer.add({ type: 'append', stream: 7, epoch: 1, at: sequence, attempt: 'attempt', batches: [mark], rows })
    writer.add({ type: 'rewrite', stream: 7, from: 0, to: sequence + 1, batches: [mark], rows })
    writer.add({ type: 'trim', stream: 7, start: 1, rows })
    const names = { kind: 'group', name: 'g' }
    writer.add({ type: 'commit', document: 1, version: sequence, removed: false, ...names, changes: rows })
    // Once for the append, once for the rewrite.
    const payload = Buffer.concat([bytes, bytes])
    const used = writer.headBytes + payload.length
    const length = Math.ceil(used / 8) * 8
    parts.push(writer.finish(1, length, 1, position), payload, Buffer.alloc(length - used))
    position += length
  }
  return Buffer.concat(parts)
}

/** Corrects the checksums of rounds and entries, as far as their lengths are valid. */
function seal(bytes: Buffer): void {
  for (let at = bytes.indexOf('KRND'); at >= 0; at = bytes.indexOf('KRND', at + 1)) {
    if (at + ROUND_HEADER_BYTES > bytes.length) return
    bytes.writeUInt32BE(crc32c(bytes.subarray(at + 8, at + ROUND_HEADER_BYTES)), at + 4)
    const seed = crc32c(bytes.subarray(at + 8, at + 24))
    for (let entry = at + ROUND_HEADER_BYTES; entry + 9 <= bytes.length; ) {
      const length = bytes.readUInt32BE(entry)
      if (length < 9 || entry + length > bytes.length) break
      bytes.writeUInt32BE(crc32c(bytes.subarray(entry + 8, entry + length), seed), entry + 4)
      entry += length
    }
  }
}

const recovery: Target = {
  name: 'recovery',
  // Without the unused space after the file's header; otherwise most mutations would change this space.
  seeds: () => [journal().subarray(FIRST_ROUND)],
  async run(input) {
    const bytes = Buffer.concat([journal().subarray(0, FIRST_ROUND), input, Buffer.alloc(64)])
    // Half of the inputs are data that a faulty program could write; half are data that a faulty disk could return.
    const isSealed = input.length % 2 === 0
    if (isSealed) seal(bytes)
    const read = async (position: number, length: number) => bytes.subarray(position, position + length)
    const file = { number: 1, incarnation: INCARNATION, size: bytes.length, read }
    let last = 0
    const visit = (round: { readonly sequence: number }) => {
      assert.ok(round.sequence > last, `round ${round.sequence} came after ${last}`)
      last = round.sequence
    }
    try {
      const { end } = await recover([file], { file: 1, position: FIRST_ROUND, sequence: 0, era: 0 }, visit, () => {})
      assert.ok(end.position >= FIRST_ROUND && end.sequence === last)
    } catch (error) {
      // An entry with a correct checksum and a wrong body is a mistake of the broker; its error message says so.
      if (!isSealed || (error as Error).message !== 'a journal entry is shorter than its body says') throw error
    }
  },
}

// --------------------------------------------------------------------------------------------------------------- Redis

function readReplies(chunks: readonly Buffer[]) {
  const replies: AnyReply[] = []
  const reader = new ReplyReader(reply => replies.push(reply))
  const fault = refusable(
    error => error instanceof MalformedReply,
    () => {
      for (const chunk of chunks) reader.push(chunk)
      return 'none'
    },
  )
  return { replies, fault }
}

const replies: Target = {
  name: 'replies',
  seeds: () =>
    [
      '+OK\r\n+QUEUED\r\n*2\r\n$3\r\n1-1\r\n:1\r\n-EXECABORT no\r\n',
      '*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nb\r\n$12\r\n0123456789\r\n\r\n*-1\r\n$-1\r\n*0\r\n$0\r\n\r\n',
    ].map(text => Buffer.from(text)),
  run(input) {
    assert.deepEqual(readReplies(piecesOf(input)), readReplies([input]))
  },
}

// ------------------------------------------------------------------------------------------------------------ logins

/** Each message is read or refused, and the parts of one that is read form a message that is read alike. */
const oauthbearer: Target = {
  name: 'oauthbearer',
  seeds: () =>
    ['n,,^Aauth=Bearer a.b.c^A^A', 'n,a=ada=2C=3D,^Aauth=bearer  a-_.B.1^Ak=v=w^Atrace=1\t^A^A'].map(text =>
      Buffer.from(text.replaceAll('^A', '\u0001')),
    ),
  run(input) {
    const message = readFirstMessage(input)
    if (message.kind === 'bad') return
    const { token, authzid } = message
    const header = authzid === null ? 'n,,' : `n,a=${authzid.replaceAll('=', '=3D').replaceAll(',', '=2C')},`
    const again = readFirstMessage(Buffer.from(`${header}\u0001auth=Bearer ${token}\u0001\u0001`))
    assert.deepEqual(again, message)
  },
}

// ------------------------------------------------------------------------------------------------------------ Kerberos

const random = seededRandom(1)
const serviceKey = { principal: 'kafka/broker.test@KETCH.TEST', kvno: 3, enctype: 18, bytes: random.bytes(32) }
const kerberosClient = makeToken({ serviceKey, random, atMs: 1_700_000_000_000, ticketData: [1], subkeyEnctype: 20 })

const kerberos: Target = {
  name: 'kerberos',
  seeds: () => [
    kerberosClient.token,
    kerberosClient.parts.ticket,
    kerberosClient.parts.authenticator,
    makeWrap(kerberosClient, Buffer.from([1, 0, 0, 0]), random),
    makeWrap(kerberosClient, Buffer.from([1, 0, 0, 0]), random, { sealed: true, rotation: 28 }),
    writeKeytab([serviceKey]),
  ],
  run(input) {
    const isRefusal = (error: unknown) => error instanceof Refused || error instanceof KeytabError
    refusable(isRefusal, () => readApReq(unframe(input)))
    refusable(isRefusal, () => readTicket(input))
    refusable(isRefusal, () => readAuthenticator(input))
    refusable(isRefusal, () => unwrap(kerberosClient.key, kerberosClient.sequence, input))
    refusable(isRefusal, () => readKeytab(input))
  },
}

export const targets: readonly Target[] = [
  frames,
  requests,
  batches,
  groups,
  settings,
  recovery,
  replies,
  oauthbearer,
  kerberos,
]
