// Compares the row of a Fetch answer with the model of its partition, byte by byte.

import { NONE, OFFSET_OUT_OF_RANGE } from '../../src/protocol/errors.ts'
import { CRC_FROM, readRecords, splitBatches } from '../../src/protocol/records.ts'
import type { FetchedRow } from '../kafka.ts'
import { expect, expectSame } from './difference.ts'
import type { LogModel, PlacedBatch } from './log-model.ts'

export interface FetchLimits {
  readonly maxBytes: number
  /** True if the answer must contain at least one batch when there is one, whatever its size. */
  readonly mustProgress: boolean
}

/**
 * Resolves with the offset at which the reader continues. Throws a Difference. No batch may be pending during the
 * fetch.
 */
export async function checkFetched(
  log: LogModel,
  offset: number,
  row: FetchedRow,
  { maxBytes, mustProgress }: FetchLimits,
  nowMs: number,
): Promise<number> {
  const isOutside = offset < log.start || offset > log.end
  expectSame(
    `${log.name}: the error of a fetch from ${offset}`,
    row.errorCode,
    isOutside ? OFFSET_OUT_OF_RANGE.code : NONE,
  )
  if (isOutside) return offset
  expectSame(`${log.name}: the high watermark`, row.highWatermark, log.end)
  expectSame(`${log.name}: the last stable offset`, row.lastStableOffset, log.end)
  if (row.logStartOffset >= 0) log.sawStart(row.logStartOffset, nowMs)

  const batches = splitBatches(row.records ?? Buffer.alloc(0))
  const bytes = batches.reduce((sum, batch) => sum + batch.bytes.length, 0)
  expectSame(`${log.name}: bytes of whole batches`, row.records?.length ?? 0, bytes)
  expect(
    batches.length < 2 || bytes <= maxBytes,
    () => `${log.name}: ${bytes} bytes in ${batches.length} batches, asked for ${maxBytes}`,
  )
  expect(
    !mustProgress || offset === log.end || batches.length > 0,
    () => `${log.name}: nothing at ${offset} of ${log.end}`,
  )
  let at = offset
  for (const batch of batches) {
    const known = log.batchAt(at)
    expectSame(`${log.name}: where the batch that holds offset ${at} begins`, batch.baseOffset, known.baseOffset)
    await checkBatch(log, known, batch.bytes)
    checkEpoch(log, known, batch.leaderEpoch)
    at = known.nextOffset
  }
  return at
}

async function checkBatch(
  log: LogModel,
  { sent, baseOffset, appendTimeMs }: PlacedBatch,
  bytes: Buffer,
): Promise<void> {
  if (appendTimeMs < 0) {
    const isSame = bytes.subarray(CRC_FROM).equals(sent.bytes.subarray(CRC_FROM))
    expect(isSame, () => `${log.name}: the bytes of batch ${sent.tag} at ${baseOffset} are not those that were sent`)
    return
  }
  const records = await readRecords(bytes)
  expectSame(`${log.name}: records of batch ${sent.tag}`, records.length, sent.records.length)
  for (const [i, record] of records.entries()) {
    const { key, value } = sent.records[i]!
    const what = `${log.name}: offset ${baseOffset + i}`
    expectSame(`${what}, its offset`, record.offset, baseOffset + i)
    expectSame(`${what}, its timestamp`, record.timestamp, appendTimeMs)
    expectSame(`${what}, its key`, record.key?.toString() ?? null, key)
    expect(record.value?.equals(value) === true, () => `${what}: the value is not the one that was sent`)
  }
}

/** Checks that a batch keeps its leader epoch, and that epochs never decrease along the log. */
function checkEpoch(log: LogModel, batch: PlacedBatch, epoch: number): void {
  if (batch.leaderEpoch === null) batch.leaderEpoch = epoch
  expectSame(`${log.name}: the leader epoch of batch ${batch.sent.tag}`, epoch, batch.leaderEpoch)
  const at = log.batches.indexOf(batch)
  const before = log.batches[at - 1]?.leaderEpoch ?? 0
  expect(before <= epoch, () => `${log.name}: epoch ${epoch} at ${batch.baseOffset} comes after epoch ${before}`)
}
