// One call of a tool: checks the arguments, runs the verb, and fits the answer. A change takes two calls, or a person
// accepts it. This file knows no MCP: server.ts puts the result into the form of the protocol.
//
//   first call    preview, keep a confirmation     shown, with the value or as a question to a person
//   second call   take the confirmation, preview again
//                 the state is another one         CONFIRM_OUTDATED, with the new preview
//                 the state is the same            apply with the pins of the first call

import type { z } from 'zod'
import { afterOthers } from '../base/clock.ts'
import { cut } from '../base/cut.ts'
import { printableLines } from '../base/printable.ts'
import { errorAnswer, type FittedAnswer, fitAnswer, refusalOf } from './answer.ts'
import { type Change, CONFIRM_MS, type Confirmations, type Way } from './confirmations.ts'
import {
  ANSWER_BYTES,
  type CallContext,
  type ChangingTool,
  isChanging,
  isRefused,
  type JsonValue,
  type McpRooms,
  type Preview,
  type Refused,
  type Tool,
  type ToolAnswer,
} from './tool.ts'

/** The facts that the protocol tells beside the arguments. */
export interface Asking {
  /** True if the client asks a person before a change. */
  readonly asksPerson: boolean
  /** The value that the client brings back beside the arguments; null in a first call. */
  readonly stateValue: string | null
  /** Whether the person accepted the change; null if no person was asked. */
  readonly isAccepted: boolean | null
}

export type CallResult =
  | { readonly kind: 'answer'; readonly answer: FittedAnswer; readonly outcome: string }
  /** The client shall show the message to a person, and call again with the value. */
  | { readonly kind: 'ask'; readonly message: string; readonly stateValue: string; readonly outcome: string }

export interface CallRooms {
  readonly rooms: McpRooms
  readonly confirmations: Confirmations
}

/** The most bytes of the preview in a question to a person, as JSON without its indentation. */
const MOST_SHOWN = 4_000
const MOST_OBJECTIONS = 10
/** One text for every reason, so that it tells nothing about values that others have. */
const CONFIRM_INVALID =
  'This confirmation is not valid here: it is unknown, used, expired, or for other arguments. Call again without confirm.'
const NOT_WHOLE = 'This is not all of it: long texts are cut, or members are left out.'
const PINS_TOO_LARGE = 'The change is too large to be confirmed as a whole. Make it in parts.'

export async function callTool(
  tool: Tool,
  given: unknown,
  asking: Asking,
  call: CallContext,
  parts: CallRooms,
): Promise<CallResult> {
  const read = tool.input.safeParse(given ?? {})
  if (!read.success) return misfit(read.error)
  if (isChanging(tool)) return await change(tool, read.data, asking, call, parts)
  const outcome = await tool.run(read.data, parts.rooms, call)
  // The answer may have many rows: to write them is work of its own.
  await afterOthers(parts.rooms.clock)
  return answered(outcome, (read.data as { readonly maxBytes: number }).maxBytes)
}

/** Returns the result for what a verb answered. */
export function answered(outcome: ToolAnswer | Refused, maxBytes: number): CallResult {
  if (!isRefused(outcome)) return { kind: 'answer', answer: fitAnswer(outcome, maxBytes), outcome: 'ok' }
  const { code, detail, fields } = refusalOf(outcome)
  return failed(code, detail, fields)
}

function failed(code: string, detail: string, fields: Readonly<Record<string, string>> | null = null): CallResult {
  return { kind: 'answer', answer: errorAnswer(code, detail, fields), outcome: code }
}

async function change(
  tool: ChangingTool,
  { confirm, ...input }: Readonly<Record<string, unknown>>,
  { asksPerson, stateValue, isAccepted }: Asking,
  call: CallContext,
  { rooms, confirmations }: CallRooms,
): Promise<CallResult> {
  const way: Way = asksPerson ? 'person' : 'argument'
  const asked: Change = { tool: tool.name, way, args: JSON.parse(JSON.stringify(input)) as JsonValue }
  // A client that asks a person must not get past that person with an argument.
  if (asksPerson && confirm !== undefined) return failed('CONFIRM_INVALID', CONFIRM_INVALID)
  const value = asksPerson ? stateValue : ((confirm as string | undefined) ?? null)
  const taken = value === null ? null : await confirmations.take(asked, value)
  if (value !== null && taken === null) return failed('CONFIRM_INVALID', CONFIRM_INVALID)
  if (taken !== null && asksPerson && isAccepted !== true)
    return failed('DECLINED', 'The person who was asked did not accept the change. Nothing was changed.')
  const preview = await tool.changes.preview(input, rooms, call)
  if (isRefused(preview)) return answered(preview, ANSWER_BYTES.usual)
  if (taken !== null && taken.state === preview.state) {
    call.ended.throwIfAborted()
    return answered(await tool.changes.apply(input, taken.pins, rooms, call), ANSWER_BYTES.usual)
  }
  const fresh = await confirmations.add(asked, preview)
  if (fresh === null) return failed('TOO_LARGE', PINS_TOO_LARGE)
  return shown(tool, preview, { value: fresh, way, isOutdated: taken !== null })
}

/** Returns the preview with its confirmation. */
function shown(
  { title, isDestructive }: ChangingTool,
  preview: Preview,
  { value, way, isOutdated }: { readonly value: string; readonly way: Way; readonly isOutdated: boolean },
): CallResult {
  const outcome = isOutdated ? 'CONFIRM_OUTDATED' : 'preview'
  if (way === 'person') {
    // Each long text is cut by itself: one must not hide the members behind it.
    const { untrusted_data: seen, left_out: isCut } = fitAnswer({ body: preview.shown }, MOST_SHOWN).structured
    const lines = [
      ...(isOutdated ? ['The state has changed since the question before.'] : []),
      `${title}: shall this change be made?${isDestructive ? ' It cannot be taken back.' : ''}`,
      'The names below come from the broker, and are no instructions.',
      printableLines(JSON.stringify(seen, null, 2)),
      ...(isCut === undefined ? [] : [NOT_WHOLE]),
    ]
    return { kind: 'ask', message: lines.join('\n'), stateValue: value, outcome }
  }
  const beside = {
    ...(isOutdated ? { error: 'CONFIRM_OUTDATED' } : {}),
    next: isOutdated
      ? 'Nothing was changed: the state is no longer the one that was shown. Look at the new preview, and call again with the new confirm value to make the change.'
      : 'Nothing was changed. Call again with the same arguments and this confirm value to make the change.',
    confirm: value,
    expires_in_seconds: CONFIRM_MS / 1_000,
  }
  const answer = fitAnswer({ body: preview.shown }, ANSWER_BYTES.usual, beside)
  return { kind: 'answer', answer: { ...answer, isError: isOutdated }, outcome }
}

/** Returns the objections to arguments, by their names. */
export function misfit({ issues }: z.ZodError): CallResult {
  const rows = issues.flatMap(issue =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map(key => [cut([...issue.path, key].join('.')), 'is no argument here'] as const)
      : [[cut(issue.path.join('.')) || 'arguments', issue.message] as const],
  )
  const fields = Object.fromEntries(rows.slice(0, MOST_OBJECTIONS))
  return failed('INVALID_ARGUMENTS', 'The arguments do not fit this tool.', fields)
}
