// The dialog that deletes a subject or one of its versions: at first only from lists, and a deleted one for good. The
// broker says before what goes, which schemas refer to it, and which topics lose their judge.

import { useState } from 'react'
import type { SchemaDeletion } from '../../../src/api/schemas.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TypedName } from '../../parts/typed-name.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink, useGo, useHere } from '../../shell/address.tsx'
import { toast } from '../../shell/toasts.tsx'
import { counted } from '../../text/format.ts'
import { isTyped } from '../../text/visible.ts'
import { SubjectLink } from '../schemas/marks.tsx'
import { effectOf } from '../schemas/words.ts'

interface DeleteSchemaProps {
  readonly subject: string
  /** Null: the subject with all its versions. */
  readonly version: number | null
  /** True removes what is deleted already. */
  readonly isPermanent: boolean
  readonly onClose: () => void
}

export function DeleteSchema({ subject, version, isPermanent, onClose }: DeleteSchemaProps) {
  const go = useGo()
  const { set } = useHere('subject')
  const [typed, setTyped] = useState('')
  const isWhole = version === null
  const leaves = isWhole && isPermanent
  const params = { subject, version: version ?? 0 }
  const dryRun = { permanent: isPermanent, dryRun: true }
  const ofSubject = useRead('delete schema subject', { params, query: dryRun }, { isWanted: isWhole, everyMs: 0 })
  const ofVersion = useRead('delete schema version', { params, query: dryRun }, { isWanted: !isWhole, everyMs: 0 })
  const removeSubject = useChange('delete schema subject', { isShown: !leaves })
  const removeVersion = useChange('delete schema version')
  const preview = isWhole ? ofSubject : ofVersion
  const remove = isWhole ? removeSubject : removeVersion
  const isFree = preview.data !== undefined && preview.problem === null && preview.data.referrers.length === 0

  const run = async () => {
    const done = await remove.run({ params, query: { permanent: isPermanent } })
    if (done === null) return
    const thing = isWhole ? subject : `version ${version} of ${subject}`
    toast(isPermanent ? `Removed ${thing} for good.` : `Deleted ${thing}.`)
    onClose()
    if (leaves) go({ page: 'schemas' }, { replace: true })
    else if (!isWhole && isPermanent) set({ version: null })
  }
  const verb = `${isPermanent ? 'Remove' : 'Delete'} ${isWhole ? 'subject' : 'version'}`
  return (
    <FormDialog
      operation={isWhole ? 'delete schema subject' : 'delete schema version'}
      title={
        <>
          {isPermanent ? 'Remove' : 'Delete'} {!isWhole && `version ${version} of `}
          <VisibleText text={subject} />
        </>
      }
      verb={verb}
      isDanger
      isReady={isFree && isTyped(typed, subject)}
      isBusy={remove.isBusy}
      problem={remove.problem}
      onSubmit={() => void run()}
      onClose={onClose}
    >
      <Loaded read={preview} of="The effect" rows={4}>
        {effect => <Effect of={effect} />}
      </Loaded>
      {isFree && <TypedName name={subject} value={typed} onChange={setTyped} />}
    </FormDialog>
  )
}

/** The number of referrers and topics that the dialog names. */
const MOST_NAMED = 10

function Effect({ of: effect }: { readonly of: SchemaDeletion }) {
  const { referrers, topics, endsJudging, permanent, subject } = effect
  if (referrers.length > 0)
    return (
      <>
        <p>
          <strong>
            {counted(referrers.length, 'schema refers', 'schemas refer')} to <VisibleText text={subject} />, so that the
            broker refuses this.
          </strong>{' '}
          Delete {referrers.length === 1 ? 'it' : 'them'} first{permanent ? ', for good' : ''}:
        </p>
        <ul className="my-2 list-disc pl-5">
          {referrers.slice(0, MOST_NAMED).map(each => (
            <li key={`${each.version} ${each.refersTo} ${each.subject}`}>
              <SubjectLink subject={each.subject} version={each.version} /> refers to version {each.refersTo}
              {each.deleted && ', and is deleted'}
            </li>
          ))}
        </ul>
        {referrers.length > MOST_NAMED && <p>and {referrers.length - MOST_NAMED} more.</p>}
      </>
    )
  const names = topics.slice(0, MOST_NAMED)
  return (
    <>
      <p>{effectOf(effect)}</p>
      <p className="mt-2">No schema refers to {effect.versions.length === 1 ? 'it' : 'them'}.</p>
      {topics.length === 0 && <p className="mt-2">The subject judges no topic.</p>}
      {topics.length > 0 && (
        <p className={`mt-2 ${endsJudging && !permanent ? 'rounded-card bg-warn-soft p-3 text-warn' : ''}`}>
          {endsJudging
            ? 'Without a live version the subject judges no records any more: every record is accepted in '
            : 'The other versions still judge the records of '}
          {names.map(({ topic, part }, at) => (
            <span key={`${part} ${topic}`}>
              {at > 0 && ', '}
              <PageLink page="topic" params={{ topic }} search={{ tab: 'schemas' }} className="underline">
                {topic}
              </PageLink>{' '}
              ({part === 'key' ? 'keys' : 'values'})
            </span>
          ))}
          {topics.length > names.length && ` and ${topics.length - names.length} more`}.
        </p>
      )}
    </>
  )
}
