// The verbs of a subject, each with its dialog.

import { FilePlus, Gauge, Lock, SearchCheck, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { DescribedSchemaSubject } from '../../../src/api/schemas.ts'
import { Action } from '../../parts/button.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { useHere } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'

const NewVersion = lazyPart(async () => (await import('./new-version.tsx')).NewVersion)
const LevelDialog = lazyPart(async () => (await import('../schemas/level-dialog.tsx')).LevelDialog)
const ModeDialog = lazyPart(async () => (await import('../schemas/mode-dialog.tsx')).ModeDialog)
const DeleteSchema = lazyPart(async () => (await import('./delete-schema.tsx')).DeleteSchema)

type Verb = 'level' | 'mode' | 'delete'

export function SubjectVerbs({ subject: found }: { readonly subject: DescribedSchemaSubject }) {
  const { search, set } = useHere('subject')
  const mayRegister = useMay('register schema')
  const [verb, setVerb] = useState<Verb | null>(null)
  const { subject, deleted, versionCount, deletedVersionCount } = found
  const register = () => set({ register: true }, { isStep: true })
  const close = () => setVerb(null)
  return (
    <>
      {mayRegister ? (
        <Action operation="register schema" kind="primary" icon={FilePlus} onClick={register}>
          New version
        </Action>
      ) : (
        <Action operation="check schema" icon={SearchCheck} onClick={register}>
          Check schema
        </Action>
      )}
      <Action operation="set schema level" icon={Gauge} onClick={() => setVerb('level')}>
        Level
      </Action>
      <Action operation="set schema mode" icon={Lock} onClick={() => setVerb('mode')}>
        Mode
      </Action>
      {versionCount + deletedVersionCount > 0 && (
        <Action operation="delete schema subject" icon={Trash2} onClick={() => setVerb('delete')}>
          {deleted ? 'Remove for good' : 'Delete subject'}
        </Action>
      )}
      {search.register && <NewVersion subject={found} onClose={() => set({ register: false })} />}
      {verb === 'level' && <LevelDialog subject={subject} onClose={close} />}
      {verb === 'mode' && <ModeDialog subject={subject} onClose={close} />}
      {verb === 'delete' && <DeleteSchema subject={subject} version={null} isPermanent={deleted} onClose={close} />}
    </>
  )
}
