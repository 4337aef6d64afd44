// Clients that register Avro schemas at several brokers over HTTP while brokers end and start. They record each answer:
// an id names one schema for ever, and every broker resolves it from then on.

import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import type { Random } from '../../src/base/random.ts'
import { aFewInSharedTurns } from '../../src/base/shared-turns.ts'
import { eventually } from '../../testing/eventually.ts'

export interface Place {
  /** The base URL of the HTTP side, which changes with a restart. */
  readonly url: string
}

interface Answered {
  readonly subject: string
  readonly text: string
  readonly id: number
}

export interface Registrars {
  /** The schema of each id that was answered. */
  readonly texts: ReadonlyMap<number, string>
  /** The number of registrations that were answered. */
  readonly answers: number
  /** Resolves when this many more registrations were answered. Rejects if a client has found an inconsistency. */
  progress(more: number): Promise<void>
  /** Checks that each broker resolves everything that was answered since `from`, an earlier number of answers. */
  verify(from?: number): Promise<void>
  /** Ends the clients. Rejects with what they have found. */
  stop(): Promise<void>
}

const CLIENTS = 6
/**
 * The longest pause of a client between two registrations. Without pauses the clients send some hundred more while a
 * broker starts, and each of them is verified at each broker.
 */
const LONGEST_PAUSE_MS = 40
/** Few subjects and schemas at a time, so that brokers register the same ones at once. */
const SUBJECTS = 5
const SCHEMAS = 12
const MEDIA = { 'content-type': 'application/vnd.schemaregistry.v1+json' }
/** A broker that has just started, or one whose store is away, answers in this time. */
const PATIENCE_MS = 60_000
/** Works on 16 requests of a check at once. */
const atOnce = aFewInSharedTurns(systemClock, 16)

const textOf = (number: number) =>
  `{"type":"record","name":"R${number}","fields":[{"name":"f${number}","type":"string"}]}`

/** Resolves with the status and the body; null if the broker is gone or cannot answer now. */
async function ask({ url }: Place, path: string, method = 'GET', body?: unknown) {
  try {
    const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: MEDIA }
    const response = await fetch(`${url}/schema-registry${path}`, { method, ...sent })
    const text = await response.text()
    return response.status >= 500 ? null : { status: response.status, body: JSON.parse(text) }
  } catch {
    return null
  }
}

/** Asks until the broker can answer. */
async function insist(place: Place, path: string, method = 'GET', body?: unknown) {
  const found: { answer: Awaited<ReturnType<typeof ask>> } = { answer: null }
  await eventually(
    `${method} ${path} is answered`,
    async () => {
      found.answer = await ask(place, path, method, body)
      return found.answer !== null
    },
    PATIENCE_MS,
  )
  return found.answer!
}

/**
 * Starts clients at these brokers. They register for each subject, and delete in subjects of their own. `ids` are those
 * that were answered before, which may name no other schema.
 */
export async function startRegistrars(
  places: readonly Place[],
  random: Random,
  {
    firstSchema = 0,
    ids = new Map(),
  }: { readonly firstSchema?: number; readonly ids?: ReadonlyMap<number, string> } = {},
): Promise<Registrars> {
  const level = await insist(places[0]!, '/config', 'PUT', { compatibility: 'NONE' })
  assert.equal(level.status, 200, JSON.stringify(level.body))
  const texts = new Map<number, string>()
  const answered: Answered[] = []
  let isOver = false

  const note = (subject: string, text: string, id: number, isKept: boolean) => {
    assert.equal(ids.get(id) ?? texts.get(id) ?? text, text, `id ${id} has two schemas`)
    texts.set(id, text)
    if (isKept) answered.push({ subject, text, id })
  }
  const resolves = async (place: Place, id: number) => {
    const got = await ask(place, `/schemas/ids/${id}`)
    if (got === null) return
    assert.deepEqual([got.status, got.body.schema], [200, texts.get(id)], `id ${id} at ${place.url}`)
  }

  const client = async (number: number) => {
    const own = `gone-${number}`
    while (!isOver) {
      await pause(random.below(LONGEST_PAUSE_MS))
      const isGone = random.below(10) === 0
      const subject = isGone ? own : `s${random.below(SUBJECTS)}`
      const text = textOf(firstSchema + Math.floor(answered.length / 4) + random.below(SCHEMAS))
      const got = await ask(places[random.below(places.length)]!, `/subjects/${subject}/versions`, 'POST', {
        schema: text,
      })
      if (got === null) {
        await pause(20)
        continue
      }
      assert.equal(got.status, 200, JSON.stringify(got.body))
      note(subject, text, got.body.id, !isGone)
      // Another broker resolves at once what one has answered.
      await resolves(places[random.below(places.length)]!, got.body.id)
      if (!isGone) continue
      await ask(places[random.below(places.length)]!, `/subjects/${own}`, 'DELETE')
      await ask(places[random.below(places.length)]!, `/subjects/${own}?permanent=true`, 'DELETE')
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)))
  const failed = clients.then(() => new Promise<never>(() => {}))
  failed.catch(() => {})

  return {
    texts,
    get answers() {
      return answered.length
    },
    async progress(more) {
      const until = answered.length + more
      const isThere = async () => answered.length >= until || (await pause(5, false))
      await Promise.race([eventually(`${more} more registrations`, isThere, PATIENCE_MS), failed])
    },
    async verify(from = 0) {
      const some = answered.slice(from)
      const ids = new Set(some.map(({ id }) => id))
      const pairs = [...new Map(some.map(each => [`${each.subject} ${each.id}`, each])).values()]
      await atOnce(
        places.flatMap(place => [...ids].map(id => ({ place, id }))),
        async ({ place, id }) => {
          const { status, body } = await insist(place, `/schemas/ids/${id}`)
          assert.deepEqual([status, body.schema], [200, texts.get(id)], `id ${id} at ${place.url}`)
        },
      )
      await atOnce(
        places.flatMap(place => pairs.map(pair => ({ place, ...pair }))),
        async ({ place, subject, text, id }) => {
          const { status, body } = await insist(place, `/subjects/${subject}`, 'POST', { schema: text })
          assert.deepEqual([status, body.id], [200, id], `${subject} at ${place.url}: ${JSON.stringify(body)}`)
        },
      )
    },
    async stop() {
      isOver = true
      await clients
    },
  }
}
