// A choice of a few words in a row, of which one holds.

interface SegmentsProps<T extends string> {
  /** The name of the choice: `Range`. */
  readonly label: string
  readonly options: readonly (readonly [value: T, label: string])[]
  readonly value: T
  readonly onChange: (value: T) => void
}

export function Segments<T extends string>({ label, options, value, onChange }: SegmentsProps<T>) {
  return (
    <fieldset className="inline-flex rounded-control border border-edge bg-surface p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map(([option, text]) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value}
          onClick={() => onChange(option)}
          className={`min-h-7 rounded-control px-3 text-dense font-medium max-sm:min-h-10 ${option === value ? 'bg-raised text-text' : 'text-muted hover:text-text'}`}
        >
          {text}
        </button>
      ))}
    </fieldset>
  )
}
