import { Outlet } from '@tanstack/react-router';
import { ProofDialog } from '../lib/proof.tsx';
import { ViewerProvider } from '../lib/viewer.tsx';

/** Around all pages: who is signed in, and the dialog that asks for a proof. */
export function Root() {
  return (
    <ViewerProvider waiting={null}>
      <Outlet />
      <ProofDialog />
    </ViewerProvider>
  );
}
