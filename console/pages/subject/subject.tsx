// The page Subject: one subject of the schema registry with its versions, their differences and references, and the
// topics whose records it judges.

import { Loaded } from '../../parts/states.tsx'
import { useHere } from '../../shell/address.tsx'
import { useCapability } from '../../shell/capabilities.ts'
import { RegistryGate } from '../schemas/registry-gate.tsx'
import { CompareVersions } from './compare-versions.tsx'
import { JudgedParts } from './judged-parts.tsx'
import { MissingSubject } from './missing-subject.tsx'
import { References } from './references.tsx'
import { SubjectHead } from './subject-head.tsx'
import { useSubject } from './use-subject.ts'
import { Versions } from './versions.tsx'

export function Subject() {
  const { params } = useHere('subject')
  return <SubjectOf key={params.subject} subject={params.subject} />
}

function SubjectOf({ subject }: { readonly subject: string }) {
  const { tab } = useHere('subject').search
  const isOn = useCapability('schema-registry')?.state === 'on'
  const read = useSubject(subject)
  if (isOn && read.problem?.status === 404) return <MissingSubject subject={subject} />
  return (
    <>
      <SubjectHead subject={subject} current={tab} />
      <RegistryGate>
        {tab === 'versions' && (
          <Loaded read={read} of="The versions" rows={12}>
            {found => <Versions subject={found} isOld={read.isOld} />}
          </Loaded>
        )}
        {tab === 'compare' && <CompareVersions subject={subject} />}
        {tab === 'references' && <References subject={subject} />}
        {tab === 'topics' && (
          <Loaded read={read} of="The judged topics" rows={4}>
            {found => <JudgedParts subject={found} />}
          </Loaded>
        )}
      </RegistryGate>
    </>
  )
}
