// The page Password.

import { PageHead } from '../../parts/page.tsx'

export function Password() {
  return <PageHead title="Password" />
}
