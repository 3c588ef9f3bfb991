export function NewEntryPage() {
  return null;
}
