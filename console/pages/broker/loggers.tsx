// The loggers of the broker that answers, with the level of each. A change holds until the broker ends.

import type { LoggerState } from '../../../src/api/loggers.ts'
import { LEVELS } from '../../../src/api/words.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Allowed } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { CONTROL } from '../../parts/field.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useHere } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'
import { toast } from '../../shell/toasts.tsx'

const CHANGE = 'change logger level'
const UNSET = ''

export function Loggers() {
  const { search, set } = useHere('broker')
  const read = useRead('list loggers', {})
  const change = useChange(CHANGE)
  const mayChange = useMay(CHANGE)
  const choose = async (logger: string, level: LoggerState['configuredLevel']) => {
    const done = await change.run({ params: { logger }, body: { level } })
    if (done !== null)
      toast(`The level of ${logger} is ${done.answer.level}${level === null ? ` (${unsetWord(logger)})` : ''}.`)
  }
  return (
    <Loaded read={read} of="The loggers" rows={12}>
      {({ loggers }) => {
        const wanted = search.q.trim().toLowerCase()
        return (
          <>
            <div className="mb-3 flex flex-wrap items-center gap-x-6 gap-y-2">
              <FilterField label="Filter loggers" value={search.q} onChange={q => set({ q })} />
              <p className="text-muted">
                A level holds for a logger and those below it{mayChange ? ', until this broker ends' : ''}.
              </p>
            </div>
            {change.problem !== null && <ProblemNote problem={change.problem} />}
            <DataTable
              name="Loggers of the broker"
              rows={loggers.filter(({ name }) => name.toLowerCase().includes(wanted))}
              keyOf={({ name }) => name}
              columns={columnsFor(mayChange, change.isBusy, choose)}
              empty={<Empty title={`No logger contains “${search.q}”`} />}
            />
          </>
        )
      }}
    </Loaded>
  )
}

type Choose = (logger: string, level: LoggerState['configuredLevel']) => Promise<void>

/** Returns the word for a level that is not set for the logger itself. The root logger has no logger above it. */
function unsetWord(name: string): string {
  return name === 'root' ? 'default' : 'inherited'
}

function columnsFor(mayChange: boolean, isBusy: boolean, choose: Choose): readonly Column<LoggerState>[] {
  return [
    {
      id: 'logger',
      head: 'Logger',
      isFixed: true,
      cell: ({ name }) => <code className="font-mono text-dense">{name}</code>,
    },
    {
      id: 'level',
      head: 'Level',
      isFixed: true,
      cell: logger => {
        const { name, level, configuredLevel } = logger
        if (mayChange) return <LevelSelect logger={logger} isBusy={isBusy} choose={choose} />
        return (
          <>
            {level} {configuredLevel === null && <span className="text-muted">{unsetWord(name)}</span>}
          </>
        )
      },
    },
  ]
}

interface LevelSelectProps {
  readonly logger: LoggerState
  readonly isBusy: boolean
  readonly choose: Choose
}

function LevelSelect({ logger: { name, level, configuredLevel }, isBusy, choose }: LevelSelectProps) {
  return (
    <Allowed operation={CHANGE}>
      <select
        aria-label={`Level of ${name}`}
        className={`${CONTROL} min-w-32 sm:max-w-56`}
        value={configuredLevel ?? UNSET}
        disabled={isBusy}
        onChange={({ target }) => void choose(name, LEVELS.find(each => each === target.value) ?? null)}
      >
        <option value={UNSET}>
          {configuredLevel === null ? `${level}, ${unsetWord(name)}` : `Take back: ${unsetWord(name)}`}
        </option>
        {LEVELS.map(each => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </Allowed>
  )
}
