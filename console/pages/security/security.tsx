// The page Security.

import { PageHead } from '../../parts/page.tsx'

export function Security() {
  return <PageHead title="Security" />
}
