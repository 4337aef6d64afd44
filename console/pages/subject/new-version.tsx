// The dialog for another version of a subject. The draft begins with the newest one, so that it is read first.

import type { DescribedSchemaSubject } from '../../../src/api/schemas.ts'
import { useRead } from '../../api/queries.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { RegisterSchema } from '../schemas/register-schema.tsx'

interface NewVersionProps {
  readonly subject: DescribedSchemaSubject
  readonly onClose: () => void
}

export function NewVersion({ subject: { subject, latestVersion }, onClose }: NewVersionProps) {
  const params = { subject, version: latestVersion ?? ('latest' as const) }
  const read = useRead('show schema version', { params }, { isWanted: latestVersion !== null, everyMs: 0 })
  if (latestVersion === null) return <RegisterSchema subject={subject} onClose={onClose} />
  if (read.data !== undefined) return <RegisterSchema subject={subject} like={read.data} onClose={onClose} />
  return (
    <Dialog
      title={
        <>
          New version of <VisibleText text={subject} />
        </>
      }
      isWide
      onClose={onClose}
    >
      <Loaded read={read} of="The newest version" rows={12}>
        {() => null}
      </Loaded>
    </Dialog>
  )
}
