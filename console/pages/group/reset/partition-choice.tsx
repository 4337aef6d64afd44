// The choice of single partitions, by topic.

import type { Chosen } from './reset-request.ts'

interface PartitionChoiceProps {
  /** The partitions that can be chosen. */
  readonly offered: Chosen
  readonly chosen: Chosen
  readonly onChange: (chosen: Chosen) => void
}

export function PartitionChoice({ offered, chosen, onChange }: PartitionChoiceProps) {
  const choose = (topic: string, partitions: readonly number[]) => onChange(new Map(chosen).set(topic, partitions))
  return (
    <section aria-label="Partitions" className="max-h-72 overflow-y-auto rounded-control border border-line p-3">
      {[...offered].map(([topic, partitions]) => {
        const own = chosen.get(topic) ?? []
        const isAll = own.length === partitions.length
        return (
          <fieldset key={topic} className="mb-3 last:mb-0">
            <legend className="sr-only">{topic}</legend>
            <label className="flex min-h-6 items-center gap-2 font-medium max-sm:min-h-11">
              <input
                type="checkbox"
                className="size-4 shrink-0 accent-accent"
                checked={isAll}
                ref={box => {
                  if (box !== null) box.indeterminate = own.length > 0 && !isAll
                }}
                onChange={() => choose(topic, isAll ? [] : partitions)}
              />
              {topic}
            </label>
            <div className="mt-1 flex flex-wrap gap-x-4 pl-6">
              {partitions.map(partition => {
                const isOn = own.includes(partition)
                return (
                  <label key={partition} className="flex min-h-6 items-center gap-1 tabular-nums max-sm:min-h-11">
                    <input
                      type="checkbox"
                      className="size-4 accent-accent"
                      aria-label={`${topic}, partition ${partition}`}
                      checked={isOn}
                      onChange={() =>
                        choose(topic, isOn ? own.filter(each => each !== partition) : [...own, partition])
                      }
                    />
                    {partition}
                  </label>
                )
              })}
            </div>
          </fieldset>
        )
      })}
    </section>
  )
}
