// Counts every request: its time by API and result, frame sizes, failures, and for each topic the records and bytes
// that Produce and Fetch moved. dispatch.ts is the only caller. Labels are names of APIs and of existing topics. A
// client's text never becomes a label.

import type { CatalogueKeeper } from '../log/catalogue.ts'
import { NONE } from '../protocol/errors.ts'
import { fetch } from '../protocol/messages/fetch.ts'
import { produce } from '../protocol/messages/produce.ts'
import type { Api, RequestOf, ResponseInput } from '../protocol/schema.ts'
import type { CounterChild, Metrics, ObservedChild } from '../telemetry/metrics.ts'

export type Result = 'success' | 'error' | 'timeout'

export interface Measures {
  /** Counts a request that was read completely. */
  received(api: Api, frameBytes: number): void
  /** Counts a finished request; `answer` is null if the broker sends none. */
  answered(api: Api, result: Result, elapsedMs: number, asked: Asked, answerBytes: number, answer: unknown): void
  /** Counts a request whose client is throttled for `throttleMs`. */
  throttled(api: Api, throttleMs: number): void
  /**
   * Counts a failure. `operation` is an API's name, `request` or `connection`; `errorType` is the kind of failure.
   */
  failed(operation: string, errorType: string): void
}

/** The parts of a request (handler.ts) that are measured. */
interface Asked {
  readonly body: unknown
  readonly waitedMs: number
}

interface ApiChildren {
  readonly in: ObservedChild
  readonly out: ObservedChild
  readonly results: Map<Result, ObservedChild>
}

interface TopicChildren {
  readonly produce: ObservedChild
  readonly producedRecords: CounterChild
  readonly producedBytes: CounterChild
  readonly fetch: ObservedChild
  readonly delivery: ObservedChild
  readonly empty: ObservedChild
  readonly fetchedRecords: CounterChild
  readonly fetchedBytes: CounterChild
}

type Producing = RequestOf<typeof produce>
type Produced = ResponseInput<typeof produce>
type Fetched = ResponseInput<typeof fetch>

/** The byte position of the record count in a record batch. */
const RECORD_COUNT_AT = 57

export function createMeasures(metrics: Metrics, catalogue: CatalogueKeeper): Measures {
  const apis = new Map<Api, ApiChildren>()
  /**
   * By topic id, so that a topic that is created again under the same name starts at zero. Has only topics of the
   * newest catalogue.
   */
  let topics = new Map<string, TopicChildren>()
  let topicsVersion = -1

  function ofApi(api: Api): ApiChildren {
    let children = apis.get(api)
    if (children === undefined) {
      children = {
        in: metrics.child('svc.broker.frame_size', { direction: 'in', api_key: api.name }),
        out: metrics.child('svc.broker.frame_size', { direction: 'out', api_key: api.name }),
        results: new Map(),
      }
      apis.set(api, children)
    }
    return children
  }

  function ofTopic(name: string | undefined, id: string | undefined): TopicChildren | null {
    const current = catalogue.current()
    const topic = name ? current.topics.get(name) : current.topicsById.get(id ?? '')
    if (topic === undefined) return null
    if (topicsVersion !== current.version) {
      topics = new Map([...topics].filter(([known]) => current.topicsById.has(known)))
      topicsVersion = current.version
    }
    let children = topics.get(topic.id)
    if (children === undefined) {
      const labels = { topic: topic.name }
      children = {
        produce: metrics.child('svc.broker.produce', labels),
        producedRecords: metrics.child('svc.broker.produce.records', labels),
        producedBytes: metrics.child('svc.broker.produce.bytes', labels),
        fetch: metrics.child('svc.broker.fetch', labels),
        delivery: metrics.child('svc.broker.fetch.delivery', labels),
        empty: metrics.child('svc.broker.fetch.empty', labels),
        fetchedRecords: metrics.child('svc.broker.fetch.records', labels),
        fetchedBytes: metrics.child('svc.broker.fetch.bytes', labels),
      }
      topics.set(topic.id, children)
    }
    return children
  }

  function produced(body: Producing, answer: Produced | null, elapsedMs: number): void {
    for (const [t, { name, topicId, partitionData }] of body.topicData.entries()) {
      const children = ofTopic(name, topicId)
      if (children === null) continue
      children.produce.observe(elapsedMs)
      for (const [p, { records }] of partitionData.entries()) {
        // Without an answer (acks=0) all records were written, or the result would be an error.
        const code = answer === null ? NONE : answer.responses[t]!.partitionResponses[p]!.errorCode
        if (code !== NONE || records === null) continue
        children.producedRecords.inc(records.readInt32BE(RECORD_COUNT_AT))
        children.producedBytes.inc(records.length)
      }
    }
  }

  function fetched(answer: Fetched, elapsedMs: number): void {
    for (const { topic, topicId, partitions } of answer.responses) {
      const children = ofTopic(topic, topicId)
      if (children === null) continue
      let bytes = 0
      let records = 0
      let isRefused = false
      for (const partition of partitions) {
        isRefused ||= partition.errorCode !== NONE
        for (const batch of batchesOf(partition.records)) {
          bytes += batch.length
          records += readCount(batch)
        }
      }
      children.fetch.observe(elapsedMs)
      if (bytes > 0) {
        children.delivery.observe(elapsedMs)
        children.fetchedBytes.inc(bytes)
        children.fetchedRecords.inc(records)
      } else if (!isRefused) children.empty.observe(elapsedMs)
    }
  }

  return {
    received: (api, frameBytes) => ofApi(api).in.observe(frameBytes),
    answered(api, result, elapsedMs, { body, waitedMs }, answerBytes, answer) {
      const children = ofApi(api)
      let child = children.results.get(result)
      if (child === undefined) {
        child = metrics.child('svc.broker.request', { api_key: api.name, result })
        children.results.set(result, child)
      }
      child.observe(elapsedMs, elapsedMs - waitedMs)
      if (answerBytes > 0) children.out.observe(answerBytes)
      // With acks=0 no answer says which records were not written.
      if (answer === null && result !== 'success') return
      if (api === produce) produced(body as Producing, answer as Produced | null, elapsedMs)
      else if (api === fetch) fetched(answer as Fetched, elapsedMs)
    },
    throttled: (api, throttleMs) => metrics.observe('svc.broker.throttle', { api_key: api.name }, throttleMs),
    failed: (operation, errorType) => metrics.count('svc.broker.failures', { operation, error_type: errorType }),
  }
}

const NO_BATCHES: readonly Uint8Array[] = Object.freeze([])

function batchesOf(records: Uint8Array | readonly Uint8Array[] | null): readonly Uint8Array[] {
  if (records === null) return NO_BATCHES
  return records instanceof Uint8Array ? [records] : records
}

function readCount(batch: Uint8Array): number {
  const at = RECORD_COUNT_AT
  return (batch[at]! << 24) | (batch[at + 1]! << 16) | (batch[at + 2]! << 8) | batch[at + 3]!
}
