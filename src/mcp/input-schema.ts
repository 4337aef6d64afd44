// The arguments of tools as JSON Schema: clients see it in the list of tools, and docs/reference/mcp.md is made of it.

import { z } from 'zod'
import type { Tool } from './tool.ts'

export interface InputSchema {
  readonly type: 'object'
  readonly [name: string]: unknown
}

/** A JSON Schema, as far as arguments of tools use it. */
export interface ArgumentSchema {
  readonly description?: string
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly ArgumentSchema[]
  readonly items?: ArgumentSchema
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
}

/** A cache of a pure function: a tool never changes. */
const schemas = new WeakMap<Tool, InputSchema>()

export function inputSchemaOf(tool: Tool): InputSchema {
  const kept = schemas.get(tool)
  if (kept !== undefined) return kept
  const made = z.toJSONSchema(tool.input, { io: 'input' }) as unknown as InputSchema
  schemas.set(tool, made)
  return made
}

/** Returns the arguments of a tool, in the order of the list. */
export function argumentsOf(tool: Tool) {
  const { properties = {}, required = [] } = inputSchemaOf(tool) as {
    readonly properties?: Readonly<Record<string, ArgumentSchema>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({ name, schema, isNeeded: required.includes(name) }))
}
