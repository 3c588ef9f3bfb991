import { Outlet } from '@tanstack/react-router';
import { ViewerProvider } from '../lib/viewer.tsx';

/** Around all pages: who is signed in. */
export function Root() {
  return (
    <ViewerProvider waiting={null}>
      <Outlet />
    </ViewerProvider>
  );
}
