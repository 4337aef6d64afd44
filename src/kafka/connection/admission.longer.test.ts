import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { Admission, type Member, type Seat } from './admission.ts'

const LIMITS = { maxBytes: 100, resumeBytes: 50 }
const SEAT_LIMITS = { inFlightLimit: 4, inFlightResume: 3, maxPendingBytes: 40, resumePendingBytes: 20 }

/** A connection from the admission's side; its client sends the requested bytes and takes as many as it likes. */
class Client implements Member {
  readonly seat: Seat
  /** Bytes that were read and are not a request yet. */
  input = 0
  /** Frames of requests that are worked on. */
  readonly work: number[] = []
  /** Answers that the client has not taken. */
  readonly answers: number[] = []
  taken = 0
  isMuted = false
  isGone = false
  wasShed = false
  readonly seen: string[] = []

  constructor(admission: Admission, isStranger = false) {
    this.seat = admission.join(this, SEAT_LIMITS, isStranger)
  }

  changed(): void {
    const { state } = this.seat
    if (this.seen.at(-1) !== state) this.seen.push(state)
  }

  shed(): void {
    this.wasShed = true
    this.close()
  }

  takenBytes(): number {
    return this.taken
  }

  receive(bytes: number): void {
    if (this.isGone || this.seat.state === 'drained') return
    // All bytes that arrived together are counted, even if the first part of them was too much.
    for (const part of [Math.ceil(bytes / 2), Math.floor(bytes / 2)]) {
      if (this.isGone || part === 0) return
      this.input += part
      this.seat.read(part)
    }
  }

  begin(most: number): void {
    const bytes = Math.min(most, this.input)
    if (bytes === 0 || !this.seat.mayRead) return
    this.input -= bytes
    this.work.push(bytes)
    this.seat.begin(bytes)
  }

  /** Finishes the oldest request: releases its frame, and counts an answer if it has one. */
  settle(answerBytes: number): void {
    const bytes = this.work.shift()
    if (bytes === undefined) return
    this.seat.settle(bytes)
    if (this.isGone) return
    if (answerBytes === 0) {
      this.seat.finish(1)
      return
    }
    this.answers.push(answerBytes)
    this.seat.answer(answerBytes)
  }

  take(): void {
    const bytes = this.answers.shift()
    if (bytes === undefined) return
    this.taken += bytes
    this.seat.sent(bytes, 1)
  }

  mute(): void {
    if (this.isGone) return
    this.isMuted = true
    this.seat.mute()
  }

  unmute(isOwing: boolean): void {
    if (!this.isMuted || this.isGone) return
    this.isMuted = false
    this.seat.unmute(isOwing)
  }

  drain(): void {
    if (this.isGone) return
    this.seat.drain()
    this.seat.read(-this.input)
    this.input = 0
  }

  close(): void {
    if (this.isGone) return
    this.isGone = true
    this.input = 0
    this.answers.length = 0
    this.seat.close()
  }

  get counted(): number {
    const bytes = (sizes: readonly number[]) => sizes.reduce((sum, size) => sum + size, 0)
    return this.input + bytes(this.work) + bytes(this.answers)
  }
}

const size = (max: number) => fc.integer({ min: 1, max })
const who = fc.nat(5)
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ what: fc.constant('join' as const), who, size: size(2) }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constant('receive' as const), who, size: size(60) }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constant('begin' as const), who, size: size(20) }) },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant('settle' as const), who, size: fc.integer({ min: 0, max: 60 }) }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('take' as const), who, size: size(1) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('mute' as const), who, size: size(1) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('unmute' as const), who, size: size(2) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('forgive' as const), who, size: size(1) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('meet' as const), who, size: size(1) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('drain' as const), who, size: size(1) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('close' as const), who, size: size(1) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('look' as const), who, size: size(1) }) },
)

function check(admission: Admission, clients: readonly Client[]): void {
  const counted = clients.reduce((sum, client) => sum + client.counted, 0)
  assert.equal(admission.pendingBytes, counted, 'what is counted is what is held')
  const strange = clients.reduce((sum, { seat, input }) => sum + (seat.isStranger ? input : 0), 0)
  assert.ok(strange <= LIMITS.maxBytes / 8, 'clients that have not authenticated hold more than their part')
  if (admission.isSuspended) {
    assert.ok(counted >= LIMITS.resumeBytes, 'all wait below the resume mark')
    const input = clients.reduce((sum, client) => sum + client.input, 0)
    assert.ok(input < LIMITS.resumeBytes, 'what only the held can let go of reaches the resume mark')
  } else assert.ok(counted <= LIMITS.maxBytes, 'more than the maximum is held and a connection is read')
  for (const { seat, seen, isGone } of clients) {
    const { state } = seat
    assert.equal(seat.mayRead, state === 'reading')
    if (isGone) assert.deepEqual([state, seat.input, seat.output], ['closed', 0, 0])
    else if (state !== 'drained' && seen.length > 0) assert.equal(seen.at(-1), state, 'a connection was not told')
  }
}

test('in every order of events all counted bytes are released, and no connection waits for one that itself waits', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100, size: 'max' }), fc.boolean(), (steps, doTake) => {
      const admission = new Admission(LIMITS)
      const clients = [new Client(admission), new Client(admission)]
      for (const { what, who: at, size: bytes } of steps) {
        const client = clients[at % clients.length]!
        if (what === 'join') clients.push(new Client(admission, bytes === 2))
        else if (what === 'look') admission.look()
        else if (what === 'receive') {
          if (client.seat.mayRead || client.seat.isOnlyMuted) client.receive(bytes)
        } else if (what === 'begin') client.begin(bytes)
        else if (what === 'settle') client.settle(bytes)
        else if (what === 'take') client.take()
        else if (what === 'mute') client.mute()
        else if (what === 'unmute') client.unmute(bytes === 2)
        else if (what === 'forgive') client.seat.forgive()
        else if (what === 'meet') client.seat.meet()
        else if (what === 'drain') client.drain()
        else client.close()
        check(admission, clients)
      }
      // No more bytes arrive. Handlers finish, and clients take their answers, or time passes and they do not.
      for (const client of clients) while (client.work.length > 0) client.settle(1)
      if (doTake) for (const client of clients) while (client.answers.length > 0) client.take()
      else for (let looks = 0; looks < 2; looks++) admission.look()
      check(admission, clients)
      assert.equal(admission.isSuspended, false, 'everybody waits although nothing is under way')
      for (const client of clients) {
        client.unmute(false)
        const { seat, isGone } = client
        if (doTake && !isGone && seat.state !== 'drained') assert.equal(seat.state, 'reading')
      }
      for (const client of clients) client.close()
      assert.equal(admission.pendingBytes, 0)
    }),
    { numRuns: 10_000 },
  )
})

test('above the maximum all are suspended, and below the resume mark all go on', () => {
  const admission = new Admission(LIMITS)
  const clients = [new Client(admission), new Client(admission)]
  clients[0]!.receive(40)
  for (let i = 0; i < 3; i++) clients[0]!.begin(10)
  clients[1]!.receive(61)
  const late = new Client(admission)
  // The second one's input alone would keep all of them waiting.
  assert.deepEqual(
    clients.map(({ seen, wasShed }) => [seen, wasShed]),
    [
      [['suspended', 'reading'], false],
      [['suspended'], true],
    ],
  )
  assert.equal(late.seat.state, 'reading')
})

test('no connection is closed while finished work can make room', () => {
  const admission = new Admission(LIMITS)
  const [one, other] = [new Client(admission), new Client(admission)]
  for (const client of [one, other]) {
    client.receive(40)
    client.begin(40)
  }
  other.receive(30)
  assert.deepEqual([one.seat.state, other.seat.state], ['suspended', 'suspended'])
  admission.look()
  one.settle(0)
  assert.equal(one.seat.state, 'suspended')
  other.settle(0)
  assert.deepEqual([one.seat.state, other.seat.state], ['reading', 'reading'])
  assert.equal(one.wasShed || other.wasShed, false)
})

test('clients that have not authenticated close one another, and never one that has', () => {
  const admission = new Admission(LIMITS)
  const known = new Client(admission)
  const strangers = [5, 6, 1].map(bytes => {
    const client = new Client(admission, true)
    client.receive(bytes)
    return client
  })
  known.receive(70)
  strangers[2]!.receive(1)
  assert.deepEqual(
    [known, ...strangers].map(({ wasShed }) => wasShed),
    [false, false, true, false],
  )
  // A client that authenticates takes its bytes along.
  strangers[0]!.seat.meet()
  strangers[2]!.receive(10)
  assert.deepEqual(
    [known, ...strangers].map(({ wasShed }) => wasShed),
    [false, false, true, false],
  )
  assert.equal(admission.isSuspended, false)
})

test('a client that takes nothing while all wait for it is closed, one that takes something is not', () => {
  const admission = new Admission(LIMITS)
  const clients = [30, 50, 30].map(answer => {
    const client = new Client(admission)
    client.receive(1)
    client.begin(1)
    client.settle(answer)
    return client
  })
  const [slow, , small] = clients
  assert.equal(slow!.seat.state, 'suspended')
  slow!.taken++
  admission.look()
  assert.deepEqual(
    clients.map(({ wasShed }) => wasShed),
    [false, true, false],
  )
  assert.equal(small!.seat.state, 'suspended')
  slow!.take()
  assert.equal(small!.seat.state, 'reading')
})

test('among waiting connections, one without pending bytes is read first, then the one that has waited for longest', () => {
  const admission = new Admission(LIMITS)
  const order: string[] = []
  const join = (name: string) => {
    const client = new Client(admission)
    client.changed = () => void (client.seat.mayRead && order.push(name))
    return client
  }
  const busy = join('busy')
  const waiting = join('waiting')
  const [light, large] = [join('light'), join('large')]
  waiting.receive(5)
  const fill = () => {
    large.receive(60)
    large.begin(60)
    busy.receive(20)
    busy.begin(20)
    busy.receive(20)
    assert.equal(admission.isSuspended, true)
    order.length = 0
    busy.settle(0)
    large.settle(0)
  }
  fill()
  busy.begin(20)
  busy.settle(0)
  fill()
  assert.deepEqual(order, ['light', 'waiting', 'busy', 'large'])
  assert.equal(light.seat.state, 'reading')
})
