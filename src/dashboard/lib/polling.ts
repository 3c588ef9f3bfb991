import { useEffect } from 'react';

/** Asks again every two seconds while something on the page is under way and the page is visible. */
export function usePolling(isActive: boolean, refresh: () => void): void {
  useEffect(() => {
    if (!isActive) return;
    const timer = setInterval(() => {
      if (!document.hidden) refresh();
    }, 2000);
    return () => clearInterval(timer);
  }, [isActive, refresh]);
}
