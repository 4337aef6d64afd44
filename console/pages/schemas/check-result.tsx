// The answer to a check: the schema fits, or the versions that it does not fit with the reasons of each.

import { CircleCheck, CircleX } from 'lucide-react'
import type { ReactNode } from 'react'
import { likelierType } from '../../../src/api/schema-words.ts'
import type { CheckedSchema } from '../../../src/api/schemas.ts'
import { VisibleText } from '../../parts/visible-text.tsx'
import { counted } from '../../text/format.ts'
import { TYPE_NAMES } from '../../text/schema-formats.ts'
import { Reasons } from './reasons.tsx'
import { comparedWith } from './words.ts'

export function CheckResult({ of, text }: { readonly of: CheckedSchema; readonly text: string }) {
  const { subject, valid, compatible, trouble, type, level, compared, failing, existing, nextVersion, mode } = of
  const likelier = valid ? null : likelierType(text, type)
  if (!valid)
    return (
      <Note isGood={false} title={`This is not a valid schema of the type ${TYPE_NAMES[type]}.`}>
        {trouble !== null && <VisibleText text={trouble} isMultiline />}
        {likelier !== null && (
          <span className="block">The text looks like {TYPE_NAMES[likelier]}: choose this type.</span>
        )}
      </Note>
    )
  if (!compatible)
    return (
      <>
        <Note isGood={false} title={`It does not fit ${counted(failing.length, 'version')} of ${subject}.`}>
          {comparedWith(compared, level)} Nothing is registered.
        </Note>
        {failing.map(({ version, id, reasons }) => (
          <section key={version} className="my-3">
            <h3 className="mb-1 font-medium">
              Version {version} <span className="font-normal text-muted">· id {id}</span>
            </h3>
            <Reasons of={reasons} name={`Reasons of version ${version}`} />
          </section>
        ))}
      </>
    )
  const isBlocked = mode !== 'READWRITE'
  return (
    <Note
      isGood={!isBlocked}
      title={
        isBlocked
          ? `It fits, and the mode ${mode} refuses a registration here.`
          : existing === null
            ? `It fits. Registered, it becomes version ${nextVersion} of ${subject}.`
            : `Version ${existing.version} has this schema already, with the id ${existing.id}.`
      }
    >
      {isBlocked && trouble !== null && (
        <>
          <VisibleText text={trouble} />{' '}
        </>
      )}
      {existing === null ? comparedWith(compared, level) : 'A registration adds nothing and answers this version.'}
    </Note>
  )
}

interface NoteProps {
  readonly isGood: boolean
  readonly title: string
  readonly children: ReactNode
}

function Note({ isGood, title, children }: NoteProps) {
  const Icon = isGood ? CircleCheck : CircleX
  return (
    <div
      data-check={isGood ? 'good' : 'bad'}
      className={`my-3 flex gap-3 rounded-card p-3 ${isGood ? 'bg-ok-soft text-ok' : 'bg-danger-soft text-danger'}`}
    >
      <Icon size={20} aria-hidden className="mt-px shrink-0" />
      <div className="min-w-0 wrap-anywhere">
        <p className="font-medium">
          <VisibleText text={title} />
        </p>
        <p className="text-text">{children}</p>
      </div>
    </div>
  )
}
