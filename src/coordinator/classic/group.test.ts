import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import type { Decision, Now, Parked } from '../machine.ts'
import { type ClassicGroup, emptyGroup, type GroupRules, toStore } from './group.ts'
import { decodeHead, encodeHead, HEAD } from './head-record.ts'
import { join } from './join.ts'
import { expire, heartbeat, leave } from './presence.ts'
import type { JoinReply, Left, SyncReply } from './requests.ts'
import { resume } from './resume.ts'
import { sync } from './sync.ts'

// Simulates the whole life of a group with clients that behave like Kafka's clients and that may fail. After any
// order of joins, leaves, crashes, pauses and restarts of the coordinator, the books must be right, and the group
// must become stable.

const RULES: GroupRules = {
  firstJoinDelayMs: 3_000,
  minSessionTimeoutMs: 6_000,
  maxSessionTimeoutMs: 1_800_000,
  maxSize: 12,
  leftBytes: Number.POSITIVE_INFINITY,
}
const SESSION_MS = 10_000
const REBALANCE_MS = 30_000

type Stage = 'idle' | 'joining' | 'joined' | 'syncing' | 'working' | 'gone'

class Client {
  readonly name: string
  readonly isStatic: boolean
  readonly protocols: readonly string[]
  stage: Stage = 'idle'
  memberId = ''
  generation = -1
  members: readonly string[] = []
  assignment = ''
  /** The number of requests on all connections that were sent and not answered. */
  open = 0

  constructor(index: number) {
    this.name = `client${index}`
    this.isStatic = index % 3 === 2
    this.protocols = index % 2 === 0 ? ['sticky', 'range'] : ['range']
  }
}

/** The group, its clients, and the state that was stored last. */
class World {
  now: Now = { ms: 0, wallMs: 1_700_000_000_000 }
  group: ClassicGroup = emptyGroup(this.now)
  stored = encodeHead(toStore(this.group))
  readonly clients = Array.from({ length: 6 }, (_, index) => new Client(index))
  ids = 0
  rebalances = 0
  /** Assignments by generation and member id. */
  readonly dealt = new Map<string, string>()
  /** Requests that were parked since the last start of the coordinator. */
  waiting = new Set<object>()

  apply(decision: Decision & { readonly isRebalanced?: true }): void {
    if (decision.isRebalanced === true) this.rebalances++
    if (decision.changes.includes(HEAD)) this.stored = encodeHead(toStore(this.group))
    for (const answer of decision.answers) answer()
  }

  park<Reply>(client: Client, answered: (reply: Reply) => void): Parked<Reply> {
    client.open++
    let settled = false
    const parked: Parked<Reply> = {
      settle: reply => {
        assert(!settled, 'a request is answered once')
        settled = true
        client.open--
        this.waiting.delete(parked)
        answered(reply)
      },
    }
    this.waiting.add(parked)
    return parked
  }

  join(client: Client): void {
    client.stage = 'joining'
    const life = this.waiting
    const parked = this.park<JoinReply>(client, reply => {
      if (life !== this.waiting || client.stage === 'gone') return
      if (reply.error === null) {
        assert(reply.generation >= client.generation || client.generation === -1, 'a generation never goes back')
        assert(reply.generation > 0 && this.group.members.has(reply.memberId))
        client.memberId = reply.memberId
        client.generation = reply.generation
        client.members = reply.members.map(each => each.memberId)
        assert.equal(client.members.length > 0, reply.leader === reply.memberId, 'members are for the leader only')
        client.stage = 'joined'
      } else {
        if (reply.error.name === 'MEMBER_ID_REQUIRED') client.memberId = reply.memberId
        else if (reply.error.name !== 'REBALANCE_IN_PROGRESS') client.memberId = ''
        if (client.stage === 'joining' && client.open === 0) client.stage = 'idle'
      }
    })
    const request = {
      groupId: 'g',
      memberId: client.memberId,
      instanceId: client.isStatic ? client.name : null,
      clientId: client.name,
      clientHost: 'host',
      sessionTimeoutMs: SESSION_MS,
      rebalanceTimeoutMs: REBALANCE_MS,
      protocolType: 'consumer',
      protocols: client.protocols.map(name => ({ name, metadata: Buffer.from(client.name) })),
      reason: null,
      memberIdRequired: true,
      canSkipAssignment: false,
    }
    this.apply(join(this.group, request, parked, `${client.name}-${++this.ids}`, RULES, this.now))
  }

  sync(client: Client): void {
    client.stage = 'syncing'
    const { generation, memberId } = client
    const life = this.waiting
    const parked = this.park<SyncReply>(client, reply => {
      if (life !== this.waiting || client.stage === 'gone') return
      if (reply.error === null) {
        client.assignment = Buffer.from(reply.assignment).toString()
        assert.equal(
          client.assignment,
          this.dealt.get(`${generation}/${memberId}`),
          'each member gets its own assignment',
        )
        client.stage = 'working'
      } else {
        if (reply.error.name !== 'REBALANCE_IN_PROGRESS') client.memberId = ''
        client.stage = 'idle'
      }
    })
    const assignments = client.members.map(each => ({
      memberId: each,
      assignment: Buffer.from(`${generation} ${each}`),
    }))
    if (this.group.state === 'CompletingRebalance' && this.group.leader === memberId) {
      for (const each of assignments) this.dealt.set(`${generation}/${each.memberId}`, String(each.assignment))
    }
    const instanceId = client.isStatic ? client.name : null
    const request = {
      groupId: 'g',
      generation,
      memberId,
      instanceId,
      protocolType: null,
      protocolName: null,
      assignments,
    }
    this.apply(sync(this.group, request, parked, RULES, this.now))
  }

  /** Does the next step of a living client. */
  step(client: Client): void {
    if (client.stage === 'idle') this.join(client)
    else if (client.stage === 'joined') this.sync(client)
    else if (client.stage === 'working') this.beat(client)
  }

  beat(client: Client): void {
    if (client.stage !== 'working' && client.stage !== 'joined') return
    const { memberId, generation } = client
    const instanceId = client.isStatic ? client.name : null
    const refusal = heartbeat(this.group, { memberId, instanceId, generation }, this.now)
    if (refusal === null) return
    client.stage = 'idle'
    if (refusal.name !== 'REBALANCE_IN_PROGRESS') client.memberId = ''
  }

  leave(client: Client): void {
    const instanceId = client.isStatic ? client.name : null
    const leaving = [{ memberId: client.memberId, instanceId, reason: null }]
    client.stage = 'gone'
    client.memberId = ''
    client.generation = -1
    let rows: readonly Left[] | null = null
    const parked: Parked<readonly Left[]> = {
      settle: reply => {
        rows = reply
      },
    }
    this.apply(leave(this.group, leaving, parked, this.now))
    assert.notEqual(rows, null, 'a leave is answered at once')
  }

  /** Ends the client without LeaveGroup. */
  crash(client: Client): void {
    client.stage = 'gone'
    client.memberId = ''
    client.generation = -1
  }

  advance(ms: number): void {
    const end = this.now.ms + ms
    while (this.group.wakeAtMs <= end) {
      this.now = { ...this.now, ms: Math.max(this.now.ms, this.group.wakeAtMs) }
      const before = this.group.wakeAtMs
      this.apply(expire(this.group, this.now))
      assert(this.group.wakeAtMs > before || this.group.wakeAtMs > this.now.ms, 'time goes on')
    }
    this.now = { ms: end, wallMs: this.now.wallMs + ms }
  }

  /** Restarts the coordinator as after kill -9: connections break, and only the stored state is left. */
  restart(): void {
    this.waiting = new Set()
    this.group = resume(decodeHead(this.stored), this.now)
    for (const client of this.clients) {
      client.open = 0
      if (client.stage === 'joining') client.stage = 'idle'
      if (client.stage === 'syncing') client.stage = 'joined'
    }
  }

  check(): void {
    const { group } = this
    const members = [...group.members.values()]
    assert.equal(group.parkedJoins, members.filter(each => each.parkedJoin !== null).length)
    const supporters = new Map<string, number>()
    for (const { protocols } of members) {
      for (const { name } of protocols) supporters.set(name, (supporters.get(name) ?? 0) + 1)
    }
    assert.deepEqual(new Map(group.supporters), supporters)
    const statics = members.filter(each => each.instanceId !== null)
    assert.deepEqual(new Map(group.staticMembers), new Map(statics.map(each => [each.instanceId!, each.id])))
    assert.equal(group.leader === null, members.length === 0)
    if (group.leader !== null) assert(group.members.has(group.leader))
    if (members.length === 0) {
      assert(group.state === 'Empty' || group.state === 'PreparingRebalance')
      assert.equal(group.bytes, 0)
    } else {
      assert.notEqual(group.state, 'Empty')
    }
    const held = new Set<object>(
      members.flatMap(each => [each.parkedJoin, each.parkedSync].filter(one => one !== null)),
    )
    assert.deepEqual(held, this.waiting, 'each request that waits belongs to a member, so that none is forgotten')
    for (const member of members) {
      assert(group.wakeAtMs <= member.deadlineMs)
      if (member.parkedSync !== null) assert.equal(group.state, 'CompletingRebalance')
      if (member.parkedJoin !== null) assert.equal(group.state, 'PreparingRebalance')
    }
    assert(group.wakeAtMs <= Math.min(group.joinDeadlineMs, group.syncDeadlineMs))
    assert.equal(group.joinDeadlineMs === Number.POSITIVE_INFINITY, group.state !== 'PreparingRebalance')
    for (const id of group.pendingSync) assert(group.members.has(id))
    assert.equal(group.pendingSync.size > 0, group.syncDeadlineMs !== Number.POSITIVE_INFINITY)
    assert(group.members.size + group.promised.size <= RULES.maxSize)
    if (group.members.size + group.promised.size === 0) assert.equal(group.heldBytes, 0)
    else assert(group.heldBytes > group.bytes)
  }
}

const commands = fc.array(
  fc.tuple(
    fc.constantFrom('step', 'step', 'step', 'step', 'beat', 'leave', 'crash', 'return', 'wait', 'pause', 'restart'),
    fc.nat({ max: 5 }),
    fc.nat({ max: 40_000 }),
  ),
  { maxLength: 80 },
)

test('for any actions of members and any restarts of the coordinator, its books are right and no living member is lost', () => {
  fc.assert(
    fc.property(commands, plan => {
      const world = new World()
      let generation = 0
      for (const [what, index, ms] of plan) {
        const client = world.clients[index]!
        if (what === 'step') world.step(client)
        else if (what === 'beat') world.beat(client)
        else if (what === 'leave') world.leave(client)
        else if (what === 'crash') world.crash(client)
        else if (what === 'return' && client.stage === 'gone') client.stage = 'idle'
        else if (what === 'wait') world.advance(ms % 4_000)
        else if (what === 'pause') world.advance(ms)
        else if (what === 'restart') world.restart()
        world.check()
        assert(world.group.generation >= generation || what === 'restart')
        generation = world.group.generation
      }

      // Without further events the group becomes stable: all living members are in one generation, each with its own
      // assignment.
      for (let second = 0; second < 120; second++) {
        for (const client of world.clients) world.step(client)
        world.advance(1_000)
        world.check()
      }
      const alive = world.clients.filter(client => client.stage !== 'gone')
      assert.equal(world.group.state, alive.length === 0 ? 'Empty' : 'Stable')
      assert.deepEqual(new Set(alive.map(client => client.memberId)), new Set(world.group.members.keys()))
      for (const client of alive) {
        assert.equal(client.stage, 'working')
        assert.equal(client.generation, world.group.generation)
        assert.equal(client.assignment, `${client.generation} ${client.memberId}`)
      }
      const settled = world.group.generation
      for (let second = 0; second < 60; second++) {
        for (const client of world.clients) world.step(client)
        world.advance(1_000)
      }
      assert.equal(world.group.generation, settled, 'a group at rest stays at rest')
    }),
    { numRuns: 300 },
  )
})

test('the generation rises by one for each rebalance, and each is counted once', () => {
  const world = new World()
  for (const client of world.clients.slice(0, 2)) {
    world.step(client)
    world.step(client)
  }
  world.advance(10_000)
  for (let round = 1; round <= 5; round++) {
    for (const client of world.clients.slice(0, 2)) world.step(client)
    assert.equal(world.group.generation, round)
    assert.equal(world.group.state, 'Stable')
    assert.equal(world.rebalances, round)
    for (const client of world.clients.slice(0, 2)) world.join(client)
  }
})
