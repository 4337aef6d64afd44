// The page Broker.

import { PageHead } from '../../parts/page.tsx'

export function Broker() {
  return <PageHead title="Broker" />
}
