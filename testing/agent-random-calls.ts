// Random calls of every tool, of tools that are not listed, and with guessed confirmations.

import assert from 'node:assert/strict'
import { type Random, seededRandom } from '../src/base/random.ts'
import { inputSchemaOf } from '../src/mcp/input-schema.ts'
import { isChanging, type Tool } from '../src/mcp/tool.ts'
import { allTools } from '../src/mcp/tools/all.ts'
import { type AgentWorldOptions, fill, openAgentWorld, orderSchema, viewOf } from './agent-world.ts'
import type { CleanUp } from './broker.ts'
import { seed } from './seed.ts'
import { contentsOf } from './store-contents.ts'

export const changingTools = allTools.filter(isChanging)
const OFF = { settings: { 'mcp.mutations-enabled': false } } as const

/** A part of a JSON schema that random arguments are made from. */
interface Shape {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Shape>>
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Shape[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly items?: Shape
  readonly additionalProperties?: Shape | boolean
}

/** Makes arguments that mostly fit the tool, with names that the broker has. */
class Arguments {
  readonly #random: Random
  readonly #texts: readonly string[]

  constructor(random: Random, texts: readonly string[]) {
    this.#random = random
    this.#texts = texts
  }

  of(tool: Tool): Record<string, unknown> {
    const shape = inputSchemaOf(tool) as Shape
    return this.#make(shape, shape.$defs ?? {}) as Record<string, unknown>
  }

  pick<T>(from: readonly T[]): T {
    return from[this.#random.below(from.length)]!
  }

  #make(shape: Shape, defs: Readonly<Record<string, Shape>>): unknown {
    if (shape.$ref !== undefined) return this.#make(defs[shape.$ref.replace('#/$defs/', '')]!, defs)
    if ('const' in shape) return shape.const
    if (shape.enum !== undefined) return this.pick(shape.enum)
    if (shape.anyOf !== undefined) return this.#make(this.pick(shape.anyOf), defs)
    switch (shape.type) {
      case 'object': {
        const chosen = Object.entries(shape.properties ?? {}).filter(
          ([name]) => shape.required?.includes(name) || this.#random.below(3) === 0,
        )
        const members = chosen.map(([name, each]) => [name, this.#make(each, defs)])
        const isOpen = typeof shape.additionalProperties === 'object' && shape.properties === undefined
        return Object.fromEntries(isOpen ? [['retention.ms', '60000']] : members)
      }
      case 'array':
        return Array.from({ length: 1 + this.#random.below(2) }, () => this.#make(shape.items ?? {}, defs))
      case 'boolean':
        return this.#random.below(2) === 0
      case 'integer':
      case 'number':
        return this.pick([0, 1, 3, 5, 2_048, -1])
      case 'null':
        return null
      default:
        return this.pick(this.#texts)
    }
  }
}

/** Makes the calls. Resolves with how often each tool answered without an error. */
export async function callAtRandom(t: CleanUp, calls: number, options: AgentWorldOptions) {
  const world = await openAgentWorld(t, options)
  const ids = await fill(world)
  const random = seededRandom(seed)
  const { id: topicId } = await world.ask('GET', '/topics/orders')
  const texts = ['orders', 'readers', 'orders-value', 'archived', 'new', orderSchema('x'), '7', '1', '', topicId]
  const make = new Arguments(random, [...texts, ...Object.values(ids)])
  const strangers = ['list_users', 'create_user', 'set_log_level', 'delete_schema', '__proto__', '']
  const before = { view: await viewOf(world), contents: await contentsOf(world.store) }
  const answered = new Map<string, number>()
  let last: unknown = null
  for (let n = 0; n < calls; n++) {
    const tool = make.pick(random.below(2) === 0 ? changingTools : allTools)
    const name = random.below(10) === 0 ? make.pick(strangers) : tool.name
    const args = make.of(tool)
    const guesses = [last, random.bytes(16).toString('base64url'), 'A'.repeat(22), '', undefined]
    const given = random.below(2) === 0 ? { ...args, confirm: make.pick(guesses) } : { ...args, confirm: undefined }
    const { status, body } = await world.agent.ask('tools/call', { name, arguments: given })
    // A name that is not listed is an error of the protocol.
    assert.ok(status === 200 || status === 400, `${name} was answered ${status}`)
    last = body.result?.structuredContent?.confirm ?? last
    if (body.result?.isError !== true && body.result !== undefined) answered.set(name, (answered.get(name) ?? 0) + 1)
    // The same call again, with the value that it has just answered.
    const { confirm } = body.result?.structuredContent ?? {}
    if (confirm !== undefined) await world.agent.ask('tools/call', { name, arguments: { ...args, confirm } })
  }
  const after = { view: await viewOf(world), contents: await contentsOf(world.store) }
  return { before, after, answered }
}

/** Asserts that the calls change nothing with svc.mcp.mutations-enabled=false. */
export async function changesNothing(t: CleanUp, calls: number, options: AgentWorldOptions): Promise<void> {
  const { before, after, answered } = await callAtRandom(t, calls, { ...options, ...OFF })
  assert.deepEqual(after, before)
  for (const { name } of changingTools) assert.equal(answered.get(name), undefined, name)
  assert.ok(answered.size > 0, 'some calls read something')
}
