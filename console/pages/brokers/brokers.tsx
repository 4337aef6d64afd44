// The page Brokers.

import { PageHead } from '../../parts/page.tsx'

export function Brokers() {
  return <PageHead title="Brokers" />
}
