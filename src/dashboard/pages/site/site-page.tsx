export function SitePage() {
  return null;
}
