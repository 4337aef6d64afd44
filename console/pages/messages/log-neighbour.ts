// The neighbour of a record in the log of its partition, for a record that is not in the list.

import { ask } from '../../api/client.ts'
import { asProblem } from '../../api/problem.ts'
import { toast } from '../../shell/toasts.tsx'
import type { Place } from './selection.ts'

/** Finds the record before or after a place in its partition. Offsets may have gaps. */
export async function openInLog(
  topic: string,
  place: Place,
  step: 1 | -1,
  onFound: (found: Place) => void,
): Promise<void> {
  const { partition } = place
  const order = step === 1 ? 'oldest' : 'newest'
  const end = `This is the ${step === 1 ? 'last' : 'first'} record of partition ${partition}.`
  const offset = place.offset + step
  if (offset < 0) return toast(end)
  try {
    const query = { partition, order, offset, limit: 1, previewBytes: 0 }
    const { messages } = await ask('browse messages', { params: { topic }, query })
    if (messages[0] === undefined) toast(end)
    else onFound(messages[0])
  } catch (error) {
    toast(`The neighbour could not be read. ${asProblem(error).detail}`)
  }
}
