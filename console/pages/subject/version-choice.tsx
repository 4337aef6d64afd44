// The choice of a version of a subject.

import type { SchemaVersionRow } from '../../../src/api/schemas.ts'
import { SelectField } from '../../parts/field.tsx'

interface VersionChoiceProps {
  readonly label: string
  readonly versions: readonly SchemaVersionRow[]
  readonly value: number | undefined
  readonly onChange: (version: number) => void
}

export function VersionChoice({ label, versions, value, onChange }: VersionChoiceProps) {
  const options = versions.map(
    ({ version, id, deleted }) => [String(version), `${version} · id ${id}${deleted ? ' · deleted' : ''}`] as const,
  )
  // A version of the address that is not there has its own sentence below.
  const isKnown = value === undefined || versions.some(({ version }) => version === value)
  return (
    <SelectField
      label={label}
      value={value === undefined ? '' : String(value)}
      options={isKnown ? options : [[String(value), `${value}`], ...options]}
      onChange={text => onChange(Number(text))}
    />
  )
}
