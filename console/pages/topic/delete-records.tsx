// The dialog Delete records: the oldest records of one partition or of all, up to an offset or all of them.

import { useState } from 'react'
import type { DeletedRecords, RecordDeletion, TopicDescription } from '../../../src/api/topics.ts'
import { useChange } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/field.tsx'
import { toast } from '../../shell/toasts.tsx'
import { counted } from '../../text/format.ts'
import { type LostRecords, lostRecords } from './lost-records.ts'

interface DeleteRecordsProps {
  readonly topic: TopicDescription
  readonly onClose: () => void
}

const ALL = 'all'

export function DeleteRecords({ topic: { name, leaders }, onClose }: DeleteRecordsProps) {
  const remove = useChange('delete records')
  const [chosen, setChosen] = useState(ALL)
  const [before, setBefore] = useState('')
  const [refused, setRefused] = useState<DeletedRecords['partitions'] | null>(null)

  const partitions = chosen === ALL ? leaders : leaders.filter(({ partition }) => String(partition) === chosen)
  const offset = chosen === ALL || before.trim() === '' ? ('end' as const) : Number(before)
  const isOffset = offset === 'end' || /^\d{1,16}$/.test(before.trim())
  const body: RecordDeletion = { offsets: partitions.map(({ partition }) => ({ partition, before: offset })) }
  const lost = lostRecords(partitions, offset)

  const run = async () => {
    if (!isOffset) return
    const done = await remove.run({ params: { topic: name }, body })
    if (done === null) return
    const failed = done.answer.partitions.filter(({ error }) => error !== null)
    const emptied = done.answer.partitions.length - failed.length
    if (emptied > 0) toast(`Deleted records of ${counted(emptied, 'partition')} of ${name}.`)
    if (failed.length === 0) onClose()
    else setRefused(failed)
  }

  if (refused !== null) return <Refused name={name} partitions={refused} onClose={onClose} />
  const refusal = remove.problem?.code === 'OFFSET_OUT_OF_RANGE' ? remove.problem.detail : undefined
  return (
    <Confirm
      operation="delete records"
      title={`Delete records of ${name}`}
      name={name}
      verb="Delete records"
      isBusy={remove.isBusy}
      problem={refusal === undefined ? remove.problem : null}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      <div className="grid gap-x-6 sm:grid-cols-2">
        <SelectField
          label="Partition"
          value={chosen}
          onChange={value => {
            remove.clear()
            setChosen(value)
          }}
          options={[
            [ALL, leaders.length === 1 ? 'The only partition' : `All ${leaders.length} partitions`],
            ...leaders.map(leader => [String(leader.partition), `${leader.partition}: ${rangeOf(leader)}`] as const),
          ]}
        />
        {chosen !== ALL && (
          <TextField
            label="Delete below offset"
            value={before}
            onChange={value => {
              remove.clear()
              setBefore(value)
            }}
            error={isOffset ? refusal : 'Expected an offset, such as 1200.'}
            hint="Empty deletes all records of the partition."
            inputMode="numeric"
          />
        )}
      </div>
      <div className="my-3 rounded-control bg-danger-soft p-3">
        <p className="font-medium">{sentenceOf(lost)}</p>
        <p>
          They cannot be brought back. Consumers that have not read them will miss them; offsets of later records stay
          the same.
        </p>
      </div>
    </Confirm>
  )
}

/** The end of a log is the offset of its next record. */
function rangeOf({ start, end }: Pick<TopicDescription['leaders'][number], 'start' | 'end'>): string {
  if (start === null || end === null) return 'does not answer'
  return start === end ? 'no records' : `offsets ${start} to ${end - 1}`
}

function sentenceOf({ records, from, to, unknown }: LostRecords): string {
  const range = from === null || to === null ? '' : `, offsets ${from} to ${to},`
  const counts = records === null ? 'All records' : counted(records, 'record')
  const rest =
    unknown === 0 ? '' : ` ${counted(unknown, 'partition does', 'partitions do')} not answer and may hold more.`
  return `${counts}${range} ${records === 1 ? 'is' : 'are'} deleted.${rest}`
}

interface RefusedProps {
  readonly name: string
  readonly partitions: DeletedRecords['partitions']
  readonly onClose: () => void
}

function Refused({ name, partitions, onClose }: RefusedProps) {
  return (
    <Dialog title={`Some records of ${name} remain`} onClose={onClose}>
      <p>These partitions refused. The other ones are done; a second attempt is safe.</p>
      <ul className="my-2 list-disc pl-5">
        {partitions.map(({ partition, error }) => (
          <li key={partition}>
            Partition {partition}: {error?.detail}
          </li>
        ))}
      </ul>
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      </DialogActions>
    </Dialog>
  )
}
