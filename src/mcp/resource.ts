// The types of resources and prompts: values in tables, as tools are (tool.ts). resources/all.ts and prompts/all.ts
// have the tables.

import type { z } from 'zod'
import type { CallContext, McpRooms, Refused, ToolAnswer } from './tool.ts'

/** Resolves with names that begin with `start`, the best first. */
export type Complete = (start: string, rooms: McpRooms) => Promise<readonly string[]>

export interface Resource {
  /** A constant address, or one with variables: `ketch://topics/{topic}`. A variable is one segment of the path. */
  readonly uri: string
  /** In snake case. */
  readonly name: string
  readonly title: string
  /** Constant, as that of a tool. */
  readonly description: string
  readonly mimeType: 'application/json' | 'text/markdown'
  /** Completes the variables of the address, by their names. */
  readonly completes?: Readonly<Record<string, Complete>>
  /** True if it shows records. It does not exist with `svc.mcp.messages-enabled=false`. */
  readonly showsRecords?: true
  /** `variables` are decoded. A text is answered as it is: it must be one of ours. */
  read(
    variables: Readonly<Record<string, string>>,
    rooms: McpRooms,
    call: CallContext,
  ): Promise<ToolAnswer | Refused | { readonly kind: 'text'; readonly text: string }>
}

export interface Prompt {
  /** In snake case. */
  readonly name: string
  readonly title: string
  readonly description: string
  /** Each argument is a text, optional or not. */
  readonly input: z.ZodObject
  readonly completes?: Readonly<Record<string, Complete>>
  /** Says to the model how to proceed. It is constant: the arguments follow as data, below `untrusted_data`. */
  readonly text: string
}

/**
 * Returns the variables of an address that fits a resource's, decoded; null if it does not fit. A constant address has
 * no variables.
 */
export function matchAddress({ uri }: Pick<Resource, 'uri'>, address: string): Record<string, string> | null {
  const wanted = uri.split('/')
  // A client may send an address of a megabyte, and each resource looks at it.
  const given = address.split('/', wanted.length + 1)
  if (wanted.length !== given.length) return null
  const variables: Record<string, string> = {}
  for (const [at, part] of wanted.entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    if (name === undefined && part !== given[at]) return null
    if (name === undefined) continue
    const value = decode(given[at]!)
    if (value === null || value === '') return null
    variables[name] = value
  }
  return variables
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment)
  } catch (error) {
    if (error instanceof URIError) return null
    throw error
  }
}
