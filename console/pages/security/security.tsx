// The page Security: users of the console, rules of Kafka clients, and their credentials.

import { SECURITY_TABS } from '../../../src/api/pages.ts'
import { PageHead } from '../../parts/page.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { useHere } from '../../shell/address.tsx'
import { Acls } from './acls.tsx'
import { Credentials } from './credentials.tsx'
import { Users } from './users.tsx'

type Tab = (typeof SECURITY_TABS)[number]

const LABELS: Readonly<Record<Tab, string>> = {
  users: 'Console users',
  acls: 'ACLs',
  credentials: 'SASL credentials',
}

const BODIES: Readonly<Record<Tab, () => React.JSX.Element>> = { users: Users, acls: Acls, credentials: Credentials }

export function Security() {
  const { search } = useHere('security')
  const Body = BODIES[search.tab]
  return (
    <>
      <PageHead title="Security" documentTitle={`Security · ${LABELS[search.tab]}`} />
      <Tabs
        of="Security"
        tabs={SECURITY_TABS.map(tab => ({
          label: LABELS[tab],
          isCurrent: tab === search.tab,
          page: 'security' as const,
          search: { tab },
        }))}
      />
      <Body key={search.tab} />
    </>
  )
}
