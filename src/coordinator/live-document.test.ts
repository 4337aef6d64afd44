import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore, type MemoryStore, type StoreFault } from '../../testing/sim/memory-store.ts'
import { sleep } from '../base/clock.ts'
import type { Refusal } from '../protocol/errors.ts'
import { UnreadableDocument } from '../store/store.ts'
import { createLogger } from '../telemetry/logger.ts'
import { LiveDocument, type Surroundings } from './live-document.ts'
import type { Decision, Event, Machine, Now, Parked } from './machine.ts'

// The smallest machine: a lease that one client holds at a time, until it gives the lease back or is silent for too
// long. A new machine of the coordinator is built like this one.

const LEASE_MS = 10_000

interface Lease {
  holder: string | null
  /** Rises with each holder, so that no two holders have the same. */
  term: number
  untilMs: number
  /** In the order of their requests. */
  readonly waiting: { readonly client: string; readonly parked: Parked<Reply> }[]
}

/** The term, or the name of a refusal. */
type Reply = number | string

const decide = (changes: readonly string[], ...answers: readonly (() => void)[]): Decision => {
  return { changes, answers, notes: [] }
}

const leases: Machine<Lease> = {
  kind: 'leads',
  noun: 'lease',
  read(document, now) {
    const text = (field: string) => document?.fields.get(field)?.toString() ?? null
    const term = Number(text('term') ?? 0)
    if (!Number.isSafeInteger(term)) throw new UnreadableDocument('The term of the lease is no number.')
    return { holder: text('holder'), term, untilMs: now.ms + LEASE_MS, waiting: [] }
  },
  resume: () => decide([]),
  fields: () => ['holder', 'term'],
  encode({ holder, term }, field) {
    const value = field === 'term' ? String(term) : holder
    return value === null ? null : Buffer.from(value)
  },
  isInUse: ({ holder }) => holder !== null,
  wakeAtMs: ({ holder, untilMs }) => (holder === null ? Number.POSITIVE_INFINITY : untilMs),
  wake: (lease, now) => (now.ms < lease.untilMs ? decide([]) : passOn(lease, now)),
}

/**
 * Requests the lease. The event is answered at once, or when the previous holder has given the lease up or lost it.
 */
const acquire = (client: string): Event<Lease, Reply> => {
  return (lease, parked, now) => {
    if (lease.holder === null) return grant(lease, client, parked, now)
    lease.waiting.push({ client, parked })
    return decide([])
  }
}

const release = (client: string): Event<Lease, Reply> => {
  return (lease, parked, now) => {
    if (lease.holder !== client) return decide([], () => parked.settle('NOT_HELD'))
    const { changes, answers } = passOn(lease, now)
    return decide(changes, () => parked.settle('RELEASED'), ...answers)
  }
}

/** Takes the lease from its holder and passes it to no client. */
const free: Event<Lease, Reply> = (lease, parked) => {
  lease.holder = null
  return decide(['holder'], () => parked.settle('FREED'))
}

/** An event that changes nothing. */
const look: Event<Lease, Reply> = ({ term }, parked) => decide([], () => parked.settle(term))

/** Deletes the lease, and answers all requests that wait for it. */
const abolish: Event<Lease, Reply> = ({ waiting }, parked) => {
  const answers = [parked, ...waiting.map(each => each.parked)].map(each => () => each.settle('ABOLISHED'))
  return { ...decide([], ...answers), remove: true }
}

function grant(lease: Lease, client: string, parked: Parked<Reply>, now: Now): Decision {
  lease.holder = client
  lease.untilMs = now.ms + LEASE_MS
  const term = ++lease.term
  return { ...decide(['holder', 'term'], () => parked.settle(term)), notes: [`term ${term} begins with ${client}`] }
}

function passOn(lease: Lease, now: Now): Decision {
  lease.holder = null
  const next = lease.waiting.shift()
  return next === undefined ? decide(['holder']) : grant(lease, next.client, next.parked, now)
}

/** Gives a sign of life. This is not an event, because it stores nothing. */
const renew = (lease: Lease, now: Now): void => {
  lease.untilMs = now.ms + LEASE_MS
}

/** A broker that coordinates the lease `l`. */
class Broker {
  readonly clock: SimulatedClock
  readonly store: MemoryStore
  readonly lines: string[] = []
  readonly failures: string[] = []
  readonly unreadable: string[] = []
  /** The terms that the keeper got; null if the state was dropped from memory. */
  readonly states: (number | null)[] = []
  vacant = 0
  readonly lease: LiveDocument<Lease>

  constructor(clock: SimulatedClock, store: MemoryStore, isShared = false, machine = leases) {
    this.clock = clock
    this.store = store
    const around: Surroundings = {
      store,
      isShared,
      clock,
      logger: createLogger({ clock, write: line => this.lines.push(line), format: 'plain' }),
      unreadable: ({ what, result }) => this.unreadable.push(`${what}: ${result}`),
      failed: errorType => this.failures.push(errorType),
    }
    const keeper = {
      replaced: (state: Lease | null) => this.states.push(state?.term ?? null),
      changed: ({ term }: Lease) => this.states.push(term),
      vacant: () => {
        this.vacant++
      },
    }
    this.lease = new LiveDocument('l', machine, keeper, around)
  }

  async open(): Promise<this> {
    this.lease.open(await this.store.load('leads', 'l'))
    return this
  }

  ask(event: Event<Lease, Reply>): Promise<Reply> {
    return this.lease.ask(event, nameOf)
  }

  acquire(client: string): Promise<Reply> {
    return this.lease.ask(acquire(client), nameOf, { mayPark: true })
  }

  /** Gives the lease to each client in turn, without waiting for an answer. */
  pass(...clients: readonly string[]): readonly Promise<Reply>[] {
    return clients.flatMap(client => [this.acquire(client), this.ask(release(client))])
  }

  async stored(): Promise<Record<string, string>> {
    const document = await this.store.load('leads', 'l')
    return Object.fromEntries(Array.from(document?.fields ?? [], ([key, value]) => [key, value.toString()]))
  }
}

const nameOf = (refusal: Refusal): Reply => refusal.name

const open = (t: TestContext, isShared = false, machine = leases) => {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const broker = new Broker(clock, store, isShared, machine)
  t.after(async () => {
    store.faults.release()
    await broker.lease.close()
  })
  return broker.open()
}

/** Writes the lease, as another broker on the same store does. */
async function interfere(store: MemoryStore, changes: Record<string, string> = { term: '7' }): Promise<void> {
  const expect = await store.version('leads', 'l')
  const rows = Object.entries(changes).map(([key, value]) => ({ key, value: Buffer.from(value) }))
  await store.commit({ kind: 'leads', name: 'l', expect, changes: rows })
}

/** Returns a function that returns the reply; undefined while the promise is pending. */
function watch(promise: Promise<Reply>): () => Reply | undefined {
  let got: Reply | undefined
  void promise.then(reply => {
    got = reply
  })
  return () => got
}

test('an answer is given when its change is stored, and not before', async t => {
  const broker = await open(t)
  const letGo = broker.store.faults.hold('commit')
  const answer = watch(broker.acquire('a'))
  await broker.clock.settle()
  assert.equal(answer(), undefined)
  assert.equal(broker.lease.state?.holder, 'a', 'the state is ahead of the store')
  letGo()
  await broker.clock.settle()
  assert.equal(answer(), 1)
  assert.match(broker.lines.join(''), /INFO .*term 1 begins with a lease=l/)
})

test('decisions are made on the newest state, and all decisions during one commit are stored by the next one', async t => {
  const broker = await open(t)
  const answers = broker.pass(...Array.from({ length: 50 }, (_, index) => `c${index}`))
  const replies = await Promise.all(answers)
  assert.deepEqual(
    replies.filter(reply => typeof reply === 'number'),
    Array.from({ length: 50 }, (_, index) => index + 1),
  )
  assert.equal(broker.store.calls.commit, 2, 'the first decision, and all that came while its commit was in flight')
  assert.deepEqual(await broker.stored(), { term: '50' })
})

test('an answer without a change waits for the changes that it depends on', async t => {
  const broker = await open(t)
  const letGo = broker.store.faults.hold('commit')
  const acquired = watch(broker.acquire('a'))
  const looked = watch(broker.ask(look))
  await broker.clock.settle()
  assert.deepEqual([acquired(), looked()], [undefined, undefined])
  letGo()
  await broker.clock.settle()
  assert.deepEqual([acquired(), looked()], [1, 1])
  assert.equal(broker.store.calls.commit, 1)
  assert.equal(watch(broker.ask(look))(), undefined, 'a promise is never settled at once')
})

test('signs of life store nothing, and the one timer notices the deadline that they have moved', async t => {
  const broker = await open(t)
  await broker.acquire('a')
  for (let second = 0; second < 60; second++) {
    renew(broker.lease.state!, broker.lease.now())
    await broker.clock.advance(1_000)
  }
  assert.deepEqual(await broker.stored(), { holder: 'a', term: '1' })
  assert.equal(broker.store.calls.commit, 1)
  await broker.clock.advance(LEASE_MS)
  assert.deepEqual(await broker.stored(), { term: '1' })
})

test('a request that waits for another client is answered by the event or the deadline that ends its wait', async t => {
  const broker = await open(t)
  await broker.acquire('a')
  const [second, third] = [watch(broker.acquire('b')), watch(broker.acquire('c'))]
  assert.equal(await broker.ask(release('a')), 'RELEASED')
  await broker.clock.settle()
  assert.deepEqual([second(), third()], [2, undefined])
  await broker.clock.advance(LEASE_MS)
  assert.equal(third(), 3)
})

test('a process that was paused gives clients one second before their deadlines count', async t => {
  const broker = await open(t)
  await broker.acquire('a')
  // The timer fires late: the clock moves on before it fires.
  const now = broker.clock.monotonic()
  broker.clock.monotonic = () => now + LEASE_MS + 30_000
  await broker.clock.advance(LEASE_MS)
  assert.equal(broker.lease.state?.holder, 'a')
  renew(broker.lease.state!, broker.lease.now())
  await broker.clock.advance(1_000)
  assert.equal(broker.lease.state?.holder, 'a')
})

test('if the answer to a commit is lost, the stored state counts, and the client is told to ask again', async t => {
  const broker = await open(t)
  for (const [fault, term] of [
    ['unknown-done', 1],
    ['unknown-lost', 1],
  ] as const) {
    broker.store.faults.failNext('commit', fault)
    const before = broker.failures.length
    assert.equal((await Promise.all(broker.pass('a')))[0], 'NOT_COORDINATOR')
    assert.deepEqual(broker.failures.slice(before), ['outcome-unknown'])
    await broker.clock.settle()
    assert.equal(await broker.ask(look), term)
    assert.equal(broker.lease.state?.holder, 'a', fault)
  }
  assert.match(broker.lines.join(''), /ERROR .*a lease could not be stored, it is loaded again lease=l/)
})

test('a conflict drops the state, and the document is loaded as the other broker wrote it', async t => {
  const broker = await open(t)
  await Promise.all(broker.pass('a'))
  await interfere(broker.store)
  assert.deepEqual(await Promise.all(broker.pass('b')), ['NOT_COORDINATOR', 'NOT_COORDINATOR'])
  assert.deepEqual(broker.failures, ['conflict'])
  await broker.clock.settle()
  assert.equal(await broker.acquire('b'), 8)
  assert.match(broker.lines.join(''), /WARN .*another coordinator has written this lease, it is loaded again/)
})

test('while the store is away requests are refused, and the document is loaded when the store is back', async t => {
  const broker = await open(t)
  await Promise.all(broker.pass('a'))
  broker.store.faults.failNext('commit', 'unavailable')
  broker.store.faults.failNext('load', 'unavailable', 2)
  assert.equal(await broker.acquire('b'), 'COORDINATOR_NOT_AVAILABLE')
  assert.deepEqual(broker.failures, ['store-unavailable'])
  assert.equal(await broker.acquire('b'), 'COORDINATOR_LOAD_IN_PROGRESS')
  assert(broker.lease.isUncertain)
  await broker.clock.settle()
  assert.equal(await broker.acquire('b'), 'COORDINATOR_NOT_AVAILABLE')
  await broker.clock.advance(1_000)
  assert.equal(await broker.acquire('b'), 'COORDINATOR_NOT_AVAILABLE')
  await broker.clock.advance(1_000)
  assert.equal(await broker.acquire('b'), 2)
  assert.match(broker.lines.join(''), /ERROR .*a lease could not be loaded lease=l/)
})

test('decisions that wait behind a failed commit are refused with it, and are never stored', async t => {
  const broker = await open(t)
  await broker.acquire('a')
  const letGo = broker.store.faults.hold('commit')
  broker.store.faults.failNext('commit', 'unavailable')
  const parked = watch(broker.acquire('p'))
  const [first, second] = [watch(broker.ask(free)), watch(broker.acquire('b'))]
  const [looked, abolished] = [watch(broker.ask(look)), watch(broker.ask(abolish))]
  await broker.clock.settle()
  letGo()
  await broker.clock.settle()
  assert.deepEqual(
    [parked(), first(), second(), looked(), abolished()],
    Array.from({ length: 5 }, () => 'COORDINATOR_NOT_AVAILABLE'),
  )
  assert.deepEqual(await broker.stored(), { holder: 'a', term: '1' })
  assert.equal(broker.store.calls.commit, 2)
  assert.equal(await broker.ask(look), 1)
  await broker.clock.advance(LEASE_MS)
  assert.deepEqual(await broker.stored(), { term: '1' })
})

test('a document that the store has lost is stored again as the state has it', async t => {
  const broker = await open(t, true)
  await broker.acquire('a')
  broker.store.faults.loseDocument('leads', 'l')
  assert.equal(await broker.lease.askCurrent(look, nameOf), 1)
  assert.deepEqual(await broker.stored(), { holder: 'a', term: '1' })
  broker.store.faults.loseDocument('leads', 'l')
  assert.equal(await broker.ask(release('a')), 'RELEASED')
  assert.deepEqual(await broker.stored(), { term: '1' })
  assert.deepEqual(broker.failures, ['lost', 'lost'])
})

test('a document that another broker removed begins anew, and its state is not stored again', async t => {
  const broker = await open(t, true)
  await broker.acquire('a')
  const expect = await broker.store.version('leads', 'l')
  await broker.store.commit({ kind: 'leads', name: 'l', expect, changes: [], remove: true })
  assert.equal(await broker.lease.askCurrent(look, nameOf), 'NOT_COORDINATOR')
  await broker.clock.settle()
  assert.deepEqual(await broker.stored(), {})
  assert.equal(await broker.ask(look), 0)
  assert.match(broker.lines.join(''), /WARN .*this lease is gone from the store: it begins again, empty/)
})

test('a read that must be current sees what another broker wrote, and is refused while the store is silent', async t => {
  const broker = await open(t, true)
  await Promise.all(broker.pass('a'))
  assert.equal(await broker.lease.askCurrent(look, nameOf), 1)
  broker.store.faults.failNext('version', 'unavailable')
  assert.equal(await broker.lease.askCurrent(look, nameOf), 'COORDINATOR_LOAD_IN_PROGRESS')
  await interfere(broker.store)
  assert.equal(await broker.ask(look), 1, 'an ordinary read does not ask the store')
  assert.equal(await broker.lease.askCurrent(look, nameOf), 'NOT_COORDINATOR')
  await broker.clock.settle()
  assert.equal(await broker.lease.askCurrent(look, nameOf), 7)
  assert.deepEqual(broker.failures, [], 'another broker may write')
})

test('a read that must be current waits for a commit of the same broker whose answer is late', async t => {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const late: MemoryStore = {
    ...store,
    async commit(commit) {
      const outcome = await store.commit(commit)
      await sleep(clock, 1_000)
      return outcome
    },
  }
  const broker = await new Broker(clock, late, true).open()
  t.after(() => clock.passing(broker.lease.close()))
  const answers = broker.pass('a', 'b')
  await clock.settle()
  assert.equal(await store.version('leads', 'l'), 1, 'the commit is done and not answered')
  const current = broker.lease.askCurrent(look, nameOf)
  assert.equal(await clock.passing(current), 2)
  assert.deepEqual(await clock.passing(Promise.all(answers)), [1, 'RELEASED', 2, 'RELEASED'])
})

test('a document that cannot be read is refused and kept, until it is repaired or deleted', async t => {
  const broker = await open(t)
  await broker.acquire('a')
  await interfere(broker.store, { term: 'many' })
  assert.equal(await broker.ask(release('a')), 'NOT_COORDINATOR')
  await broker.clock.settle()
  assert.equal(await broker.acquire('b'), 'COORDINATOR_NOT_AVAILABLE')
  assert(broker.lease.isUnreadable && !broker.lease.isUncertain && !broker.lease.exists)
  assert.match(broker.unreadable.join(), /^the stored lease "l": clients are told COORDINATOR_NOT_AVAILABLE until/)
  await interfere(broker.store, { term: '4' })
  await broker.clock.advance(10_000)
  assert.equal(await broker.ask(look), 4)

  await interfere(broker.store, { term: 'more' })
  assert.equal(await broker.ask(release('a')), 'NOT_COORDINATOR')
  await broker.clock.settle()
  assert.equal(await broker.lease.removeUnread(), null)
  assert.deepEqual(await broker.stored(), {})
  assert.equal(await broker.acquire('b'), 1)
})

test('a load that was still due does not change a document that was deleted and is in use again', async t => {
  const broker = await open(t)
  await broker.acquire('a')
  await interfere(broker.store, { term: 'many' })
  assert.equal(await broker.ask(release('a')), 'NOT_COORDINATOR')
  await broker.clock.settle()
  broker.store.faults.failNext('load', 'unavailable')
  await broker.clock.advance(10_000)
  // The document will be loaded again in a second.
  assert.equal(await broker.lease.removeUnread(), null)
  assert.equal(await broker.acquire('b'), 1)
  const waits = watch(broker.acquire('c'))
  await broker.clock.advance(1_000)
  assert.equal(await broker.ask(release('b')), 'RELEASED')
  await broker.clock.settle()
  assert.equal(waits(), 2)
})

test('a deleted document refuses requests until it is gone, and then begins anew', async t => {
  const broker = await open(t)
  await broker.acquire('a')
  const letGo = broker.store.faults.hold('commit')
  const waits = watch(broker.acquire('b'))
  const abolished = watch(broker.ask(abolish))
  assert.equal(await broker.acquire('c'), 'COORDINATOR_LOAD_IN_PROGRESS')
  assert(!broker.lease.exists && !broker.lease.isUncertain)
  letGo()
  await broker.clock.settle()
  assert.deepEqual([abolished(), waits()], ['ABOLISHED', 'ABOLISHED'])
  assert.deepEqual(await broker.stored(), {})
  assert.equal(await broker.acquire('c'), 1)
})

test('the keeper is told when nothing is left of a document', async t => {
  const broker = await open(t)
  assert.equal(await broker.ask(look), 0)
  assert.equal(broker.vacant, 1)
  await broker.acquire('a')
  assert.equal(broker.vacant, 1)
  assert.equal(await broker.ask(abolish), 'ABOLISHED')
  assert.equal(broker.vacant, 2)
})

test('the keeper is told of each state, and of the loss of the state', async t => {
  const broker = await open(t)
  await broker.acquire('a')
  await interfere(broker.store)
  await broker.ask(release('a'))
  await broker.clock.settle()
  assert.deepEqual(broker.states, [0, 0, 1, 1, null, 7, 7])
})

test('a change that a loaded state makes by itself is stored', async t => {
  const machine: Machine<Lease> = {
    ...leases,
    resume(lease) {
      if (lease.holder !== 'evicted') return decide([])
      lease.holder = null
      return decide(['holder'])
    },
  }
  const broker = await open(t, false, machine)
  await interfere(broker.store, { holder: 'evicted', term: '1' })
  await broker.open()
  await broker.clock.settle()
  assert.deepEqual(await broker.stored(), { term: '1' })
})

test('draining refuses requests that wait for others and accepts all others; closing waits for the commit in flight', async t => {
  const broker = await open(t)
  await broker.acquire('a')
  const parked = watch(broker.acquire('b'))
  broker.lease.drain()
  await broker.clock.settle()
  assert.equal(parked(), 'NOT_COORDINATOR')
  assert.equal(await broker.acquire('c'), 'NOT_COORDINATOR')
  const letGo = broker.store.faults.hold('commit')
  const released = watch(broker.ask(release('a')))
  const closed = broker.lease.close().then(() => 'closed')
  assert.equal(await broker.ask(look), 'NOT_COORDINATOR')
  assert.equal(await Promise.race([closed, broker.clock.settle().then(() => 'open')]), 'open')
  letGo()
  assert.equal(await closed, 'closed')
  assert.equal(released(), 'RELEASED')
})

const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('pass' as const), clients: fc.integer({ min: 1, max: 4 }) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('look' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('fault' as const),
        verb: fc.constantFrom('commit' as const, 'load' as const, 'version' as const),
        fault: fc.constantFrom<StoreFault>('unavailable', 'unknown-done', 'unknown-lost'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('rival' as const, 'lose' as const, 'wait' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  ),
  { maxLength: 30 },
)

test('no acknowledged term is lost or given twice, whatever the store and other brokers do', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async plan => {
      const clock = new SimulatedClock()
      let store = createMemoryStore(clock)
      let broker = await new Broker(clock, store, true).open()
      const given = new Set<number>()
      let highest = 0
      // True while the store has lost the document and the broker has not stored it again. If another broker writes
      // or a second failure happens in that time, the terms are really lost.
      let isLost = false
      let mayFail = false
      const take = (reply: Reply) => {
        if (typeof reply !== 'number') return
        assert(!given.has(reply), `term ${reply} was given twice`)
        given.add(reply)
        highest = Math.max(highest, reply)
      }
      const check = async () => {
        const reply = await broker.lease.askCurrent(look, nameOf)
        if (typeof reply === 'number') assert(reply >= highest, `${highest} was acknowledged, ${reply} is there`)
        if (typeof reply === 'number') isLost = false
        return typeof reply === 'number'
      }
      for (const step of plan) {
        if (step.kind === 'pass') {
          const clients = Array.from({ length: step.clients }, (_, index) => `c${index}`)
          for (const reply of await Promise.all([broker.ask(free), ...broker.pass(...clients)])) take(reply)
        } else if (step.kind === 'look') {
          await check()
        } else if (step.kind === 'fault') {
          if (isLost) await check()
          store.faults.failNext(step.verb, step.fault)
          mayFail = true
        } else if (step.kind === 'wait') {
          await clock.advance(1_000)
        } else if (step.kind === 'rival') {
          if (isLost) await check()
          const rival = await new Broker(clock, store.beside(), true).open()
          for (const reply of await Promise.all([rival.ask(free), rival.acquire('rival')])) take(reply)
          await rival.lease.close()
        } else if (step.kind === 'lose') {
          // The broker still has all that it acknowledged, and no other broker has written since.
          if (!(await check()) || mayFail) continue
          store.faults.loseDocument('leads', 'l')
          isLost = true
        } else {
          // A lost document that the broker has not stored again goes with the broker.
          await check()
          await broker.lease.close()
          store = store.reopen()
          mayFail = false
          broker = await new Broker(clock, store, true).open()
        }
      }
      await clock.advance(10_000)
      await broker.lease.close()
    }),
    { numRuns: 150 },
  )
})
