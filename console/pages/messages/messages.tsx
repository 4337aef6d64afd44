// The page Messages.

import { PageHead } from '../../parts/page.tsx'

export function Messages() {
  return <PageHead title="Messages" />
}
