// The dialog that produces a record: key, value, headers, partition, a tombstone.

import type { ShownRecord } from '../../src/api/messages.ts'
import { Dialog } from './dialog.tsx'

export interface ProduceProps {
  readonly topic: string
  /** The record to produce again; without it the form is empty. */
  readonly from?: ShownRecord
  readonly onClose: () => void
  /** Hears where the record is. */
  readonly onProduced?: (place: { readonly partition: number; readonly offset: number }) => void
}

export function Produce({ topic, onClose }: ProduceProps) {
  return (
    <Dialog title={`Produce to ${topic}`} onClose={onClose}>
      {null}
    </Dialog>
  )
}
