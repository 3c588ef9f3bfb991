export default { paths: () => [{ params: { id: 'one' } }, { params: { id: 'two' } }] };
