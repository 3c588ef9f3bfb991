import { Outlet } from '@tanstack/react-router';
import { ViewerProvider } from '../lib/viewer.tsx';
import { Failure } from './states.tsx';

/** Around all pages: who is signed in. */
export function Root() {
  return (
    <ViewerProvider failed={(fault, retry) => <Failure fault={fault} onRetry={retry} order={1} />}>
      <Outlet />
    </ViewerProvider>
  );
}
