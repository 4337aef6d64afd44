// The page Setup.

import { PageHead } from '../../parts/page.tsx'

export function Setup() {
  return <PageHead title="Setup" />
}
