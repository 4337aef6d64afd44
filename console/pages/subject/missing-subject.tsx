// The page of a subject that does not exist: it never did, or somebody has removed it.

import { FilePlus } from 'lucide-react'
import { Action, buttonClass } from '../../parts/button.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'

const RegisterSchema = lazyPart(async () => (await import('../schemas/register-schema.tsx')).RegisterSchema)

export function MissingSubject({ subject }: { readonly subject: string }) {
  const { search, set } = useHere('subject')
  const mayRegister = useMay('register schema')
  return (
    <>
      <PageHead title={subject} heading={<VisibleText text={subject} />} documentTitle={`${subject} · Subject`} />
      <Empty
        title="There is no subject of this name"
        action={
          <div className="flex flex-wrap justify-center gap-2">
            <PageLink page="schemas" className={buttonClass('plain')}>
              Show all subjects
            </PageLink>
            <Action
              operation="register schema"
              icon={FilePlus}
              onClick={() => set({ register: true }, { isStep: true })}
            >
              Register schema
            </Action>
          </div>
        }
      >
        The schema registry has no subject “<VisibleText text={subject} />
        ”. It may have been removed, or the address has another spelling: upper and lower case differ.
      </Empty>
      {search.register && mayRegister && <RegisterSchema subject={subject} onClose={() => set({ register: false })} />}
    </>
  )
}
